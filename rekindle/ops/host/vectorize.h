// SPDX-License-Identifier: Apache-2.0
// How the host kernels are compiled for the vector units of the machine that
// runs them, in one place.
//
// A kernel is a leaf function over a range, marked RK_HOST_CLONES: it exists
// once for any x86-64, for AVX2 and for AVX-512, and the loader picks one. The
// library is compiled with -ffp-contract=off and sums in a fixed order (see
// reduce.h), so all versions, and all compilers, give the same bits.
#pragma once

#include <cstdlib>  // __GLIBC__

// Sanitizers and loaders without ifunc get the plain version.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && \
    !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&          \
    !defined(__SANITIZE_THREAD__) && !defined(RK_NO_HOST_CLONES)
#define RK_HOST_CLONES \
  __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define RK_HOST_CLONES
#endif

// For helpers that must become part of their caller's clones.
#if defined(__GNUC__)
#define RK_HOST_INLINE inline __attribute__((always_inline))
#else
#define RK_HOST_INLINE inline
#endif

// Before a loop: iterations do not depend on each other, because arrays are
// either the same or do not overlap. (clang finds out at run time, and would
// warn about every such loop that it does not vectorize.)
#if defined(__GNUC__) && !defined(__clang__)
#define RK_HOST_INDEPENDENT _Pragma("GCC ivdep")
#else
#define RK_HOST_INDEPENDENT
#endif
