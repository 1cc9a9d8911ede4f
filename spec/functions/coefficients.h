// Made by generate_coefficients.py; do not edit. Polynomials by ascending power; e: largest relative error of the whole function.
#pragma once

namespace ulpian::kernels {
namespace {

// (e^r - 1 - r) / r^2; e < 2^-49
constexpr double ExpTerms[] = {
    0x1.0000000000000p-1,
    0x1.5555555553b7bp-3,
    0x1.5555555554c5fp-5,
    0x1.1111111c46aa2p-7,
    0x1.6c16c173b1c39p-10,
    0x1.a019ada7d6498p-13,
    0x1.a019c922b9e2bp-16,
    0x1.72c726733ab9dp-19,
    0x1.2880dbea5785cp-22,
};
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
// (log((1+s)/(1-s)) / s - 2) / s^2 in s^2, for |s| <= 3 - 2 sqrt 2; e < 2^-50
constexpr double LogTerms[] = {
    0x1.55555555553b8p-1,
    0x1.9999999b86b38p-2,
    0x1.2492462aae0ecp-2,
    0x1.c71fcd18711c4p-3,
    0x1.7382d1330ebcfp-3,
    0x1.546ad42a9a1a9p-3,
};
// the same for |s| <= 1/3; e < 2^-52
constexpr double Log1pUnitTerms[] = {
    0x1.5555555555571p-1,
    0x1.99999999863dcp-2,
    0x1.24924936a93b5p-2,
    0x1.c71c64ccc30b9p-3,
    0x1.745f6a04eee8cp-3,
    0x1.3ad836d322864p-3,
    0x1.148767acbedaap-3,
    0x1.a6ce227aa6f0dp-4,
    0x1.59868ae7ac953p-3,
};
// (sin r / r - 1) / r^2 in r^2, for |r| <= pi/4; e < 2^-55
constexpr double SinTerms[] = {
    -0x1.5555555555555p-3,
    0x1.1111111110bb2p-7,
    -0x1.a01a019e83a45p-13,
    0x1.71de37968191ep-19,
    -0x1.ae600af9dc879p-26,
    0x1.5e0b16c88dccap-33,
};
// (cos r - 1 + r^2/2) / r^4 in r^2; e < 2^-49
constexpr double CosTerms[] = {
    0x1.5555555555437p-5,
    -0x1.6c16c16b614cep-10,
    0x1.a019ff539f858p-16,
    -0x1.27e25f4653f9ap-22,
    0x1.1c81c0d56b85ap-29,
};
// (asin s / s - 1) / s^2 in s^2, for |s| <= 1/2; e < 2^-50
constexpr double AsinTerms[] = {
    0x1.55555555555bbp-3,
    0x1.33333333030cfp-4,
    0x1.6db6dba99e56dp-5,
    0x1.f1c6ff7f5507fp-6,
    0x1.6e8f34a32a3ecp-6,
    0x1.1c0d74beb3610p-6,
    0x1.cf5ed14c7cb7ep-7,
    0x1.512bc40e88a9ep-7,
    0x1.fa1b2b4831188p-7,
    -0x1.bf16e7c9f283cp-8,
    0x1.c8a4a8d5d7026p-6,
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
// erf a / a in a^2, for |a| <= 1; e < 2^-54
constexpr double ErfTerms[] = {
    0x1.20dd750429b6dp+0,
    -0x1.812746b0379c1p-2,
    0x1.ce2f21a040f66p-4,
    -0x1.b82ce31203772p-6,
    0x1.565bccfa44156p-8,
    -0x1.c02db0665e53dp-11,
    0x1.f9a2be4f731a1p-14,
    -0x1.f4ca838adb73bp-17,
    0x1.b981d78881a5dp-20,
    -0x1.5c131500d3f88p-23,
    0x1.d76af6ca49787p-27,
    -0x1.ac9585a44fe29p-31,
};
// erfc(a) e^(a^2) (a + 2) in (a - 2) / (a + 2), for 1 <= a <= 6; e < 2^-49
constexpr double ErfTailTerms[] = {
    0x1.058671b52c776p+0,
    -0x1.5fd386754f0c4p-1,
    0x1.1e2deea6b1527p-2,
    -0x1.2a88e60fcbef9p-5,
    -0x1.606e415782cacp-6,
    0x1.a89eae9688bc8p-8,
    0x1.9517c06a91c66p-9,
    -0x1.b6facb5331214p-11,
    -0x1.5ba6b1ff56c90p-11,
    0x1.1f5cc7793e987p-15,
    0x1.2f961a78b0f9ap-13,
    0x1.2421bfc3c2d4ep-15,
    -0x1.911166d69ce4ap-16,
    -0x1.1e37502412078p-16,
    0x1.758bf272ff94cp-18,
};
// (1 - Phi(a)) e^(a^2/2) (a + 4) in (a - 4) / (a + 4), for 0 <= a <= 15; e < 2^-52
constexpr double GeluTerms[] = {
    0x1.82b4bb8c94dcep-1,
    -0x1.373e3a893c28ep-1,
    0x1.8c6dbf2cfc2e4p-2,
    -0x1.7dff2bff67b14p-3,
    0x1.eec4cc3e4b3dep-5,
    -0x1.ee2761071946fp-8,
    -0x1.c81719d9401a8p-9,
    0x1.ab82607031fc5p-10,
    0x1.17a4b75e7771ep-13,
    -0x1.e4a4526ac69b3p-13,
    -0x1.003a7a5d8ef71p-19,
    0x1.26d33ebab0a1ap-15,
    0x1.835a9e6cf1a54p-21,
    -0x1.8d54e5f0b1ce6p-18,
    -0x1.5a2f9e8498b16p-21,
    0x1.0f554d6c29e77p-20,
    0x1.3a20f13a2ca0ap-22,
    -0x1.07f7b51e64632p-23,
    -0x1.70519db409a45p-24,
    -0x1.006bd7123880bp-26,
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
constexpr double Ln2[] = {0x1.62e42fee00000p-1, 0x1.a39ef35793c76p-33};  // 32 bits, the rest
constexpr double Log10Of2[] = {0x1.3441350800000p-2, 0x1.f79fef311f12bp-34};  // 32 bits, the rest
constexpr double HalfPi[] = {0x1.921fb54400000p+0, 0x1.0b4611a600000p-34, 0x1.3198a2e037073p-69};  // 33 bits, 33 bits, the rest
constexpr double HalfPiDouble[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};  // two doubles
constexpr double TwoOverLn2[] = {0x1.7154760000000p+1, 0x1.4ae0bf85ddf44p-25};  // 26 bits, the rest
constexpr double InverseLn2 = 0x1.71547652b82fep+0;
constexpr double InverseLn10 = 0x1.bcb7b1526e50ep-2;
constexpr double TwoOverPi = 0x1.45f306dc9c883p-1;
constexpr double TwoPi = 0x1.921fb54442d18p+2;
constexpr double GeluTanhLinear = 0x1.9884533d43651p+0;
constexpr double GeluTanhCubic = 0x1.2444f2a4d8b4bp-4;

}  // namespace
}  // namespace ulpian::kernels
