// How much longer a test may take, or how much less it may try, in a build that was not made for speed: sanitizers, no optimisation.
#pragma once

namespace ulpian {

#if defined(__SANITIZE_ADDRESS__)
#define ULPIAN_SLOW_BUILD 8
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ULPIAN_SLOW_BUILD 8
#endif
#endif
#if !defined(ULPIAN_SLOW_BUILD) && !defined(__OPTIMIZE__)
#define ULPIAN_SLOW_BUILD 5
#endif
#if !defined(ULPIAN_SLOW_BUILD)
#define ULPIAN_SLOW_BUILD 1
#endif
constexpr int SlowBuild = ULPIAN_SLOW_BUILD;
#undef ULPIAN_SLOW_BUILD

}  // namespace ulpian
