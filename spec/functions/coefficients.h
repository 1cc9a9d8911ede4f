// Made by generate_coefficients.py; do not edit. Polynomials by ascending power; e: largest relative error of the whole function.
#pragma once

namespace ulpian::kernels {
namespace {

// (2^r - 1) / r; e < 2^-50
constexpr double Exp2Terms[] = {
    0x1.62e42fefa39f7p-1,
    0x1.ebfbdff82c590p-3,
    0x1.c6b08d7044117p-5,
    0x1.3b2ab6fba3820p-7,
    0x1.5d87fe908fe97p-10,
    0x1.4309130388e74p-13,
    0x1.ffcb76772f06bp-17,
    0x1.62bfe42e4a551p-20,
    0x1.b6571f7fec5bfp-24,
    0x1.e5ea5b11d792ap-28,
};
// (atan t / t - 1) / t^2 in t^2, for |t| <= tan(pi/8); e < 2^-52
constexpr double AtanTerms[] = {
    -0x1.5555555555546p-2,
    0x1.9999999990a93p-3,
    -0x1.2492491dd42c9p-3,
    0x1.c71c6dd186305p-4,
    -0x1.745c7f7b8c379p-4,
    0x1.3b068e61396ddp-4,
    -0x1.105e3a71f0cd0p-4,
    0x1.d5eb4c53c5c16p-5,
    -0x1.6f4554e10d021p-5,
    0x1.74bbdc9bd8937p-6,
};
// the third term on of log((1+s)/(1-s)) / s, in s^2; e < 2^-63
constexpr double PowLog2Terms[] = {
    0x1.999999999999ep-2,
    0x1.249249248e532p-2,
    0x1.c71c71d7e7d70p-3,
    0x1.745d09f085360p-3,
    0x1.3b18b8e7bb15fp-3,
    0x1.1018af16a6335p-3,
    0x1.0878816aa2ffap-3,
};
constexpr double HalfPiDouble[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};  // two doubles
constexpr double TwoOverLn2[] = {0x1.7154760000000p+1, 0x1.4ae0bf85ddf44p-25};  // 26 bits, the rest
constexpr double InverseLn2 = 0x1.71547652b82fep+0;

}  // namespace
}  // namespace ulpian::kernels
