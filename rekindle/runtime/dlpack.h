// SPDX-License-Identifier: Apache-2.0
// Tensors shared with other libraries by DLPack, without a copy. Needs the
// header dlpack/dlpack.h (package libdlpack-dev).
#pragma once

#include <dlpack/dlpack.h>

#include "absl/status/statusor.h"
#include "rekindle/device/device.h"
#include "rekindle/runtime/runtime.h"
#include "rekindle/runtime/site.h"
#include "rekindle/runtime/tensor.h"

namespace rekindle {

// Lends the value to another library, for reading only. It is made resident
// and stays where it is, counted and never given up, until the consumer calls
// the deleter: on any thread, also after the runtime's end. Work of `stream`
// submitted later sees the value, and comes before the bytes are used again.
// f32 and i32 keep their type; bytes become uint8. Row by row, without gaps.
// Errors: as Tensor::Read; Unimplemented for a device without a DLPack name.
absl::StatusOr<DLManagedTensor*> ExportDlpack(const Tensor& tensor,
                                              Stream stream = {},
                                              Site site = Site::Current());

// A constant on the memory of another library (see Runtime::Adopt). Takes
// `managed` over, also if it fails: its deleter runs when nothing needs the
// memory any more. 32-bit floats and integers keep their type and shape; all
// other types become bytes. REQUIRES: the memory is ready, and nobody writes to
// it as long as something made from it may be computed again.
// Errors: InvalidArgument for another device, gaps between elements, a shape
// that is not valid, or null.
absl::StatusOr<Tensor> ImportDlpack(Runtime& runtime, DLManagedTensor* managed,
                                    ConstantOptions options = {},
                                    Site site = Site::Current());

}  // namespace rekindle
