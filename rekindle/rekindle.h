// SPDX-License-Identifier: Apache-2.0
// Everything that a program needs.
#pragma once

#include "rekindle/base/units.h"
#include "rekindle/runtime/generator.h"
#include "rekindle/runtime/kernel.h"
#include "rekindle/runtime/options.h"
#include "rekindle/runtime/runtime.h"
#include "rekindle/runtime/spec.h"
#include "rekindle/runtime/stats.h"
#include "rekindle/runtime/tensor.h"
