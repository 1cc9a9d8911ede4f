# Compiler settings of the whole project.
option(ULPIAN_SANITIZE "Build with the address and undefined-behaviour sanitizers" OFF)
option(ULPIAN_FUZZERS "Link the harnesses (*_fuzz.cpp) with libFuzzer (clang only); else with a driver that replays files" OFF)
option(ULPIAN_WARNINGS_AS_ERRORS "Warnings stop the build" ON)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# -O2 keeps builds quick; folders that need more say so. NDEBUG is not set: `ensure` is no assert.
set(CMAKE_CXX_FLAGS_RELEASE "-O2")

find_program(ULPIAN_CCACHE ccache)
if(ULPIAN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${ULPIAN_CCACHE}")
endif()

# Every rounding that a definition writes happens, and no other: contraction off, no fast-math anywhere.
add_compile_options(-ffp-contract=off -fno-math-errno)
add_compile_options(-Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Wswitch -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc 12 drops the rounding of (double)(float)x where its SLP vectoriser packs neighbouring statements: bits would change.
  add_compile_options(-fno-tree-slp-vectorize)
  # gcc 12 reports these on correct code of the standard library (PR 105562, 105329, 107852).
  add_compile_options(-Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # gcc 12's -Wshadow also complains of enumerators of scoped enumerations, which shadow nothing.
  add_compile_options(-Wshadow)
endif()
if(ULPIAN_WARNINGS_AS_ERRORS)
  add_compile_options(-Werror)
endif()
if(ULPIAN_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
if(ULPIAN_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "ULPIAN_FUZZERS needs clang (the preset `fuzz`); with other compilers the harnesses replay files.")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
include_directories("${PROJECT_SOURCE_DIR}")
