/* SPDX-License-Identifier: Apache-2.0 */
/* The C interface as a C compiler sees it. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many functions there are, each with an address to link to. */
size_t function_count(void);
size_t sum_of_struct_sizes(void);

#ifdef __cplusplus
}
#endif
