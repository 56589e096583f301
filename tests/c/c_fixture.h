// SPDX-License-Identifier: Apache-2.0
// A runtime behind the C interface, on the host, with room for a few vectors.
#pragma once

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rekindle/c.h"

namespace rekindle {

using Floats = std::vector<float>;

class CTest : public ::testing::Test {
 protected:
  static constexpr int64_t kN = 1 << 16;  // 256 KiB of float

  CTest() { Open("64MiB"); }
  ~CTest() override {
    for (rk_tensor* tensor : tensors_) rk_tensor_release(tensor);
    rk_runtime_release(rt_);
  }

  void Open(const char* budget) {
    rk_runtime_release(rt_);
    rk_options options = RK_OPTIONS_INIT;
    options.device = "host";
    options.budget = budget;
    ASSERT_EQ(rk_runtime_create(&options, &rt_), RK_OK) << rk_last_error();
  }

  // Released at the end of the test.
  rk_tensor* Own(rk_tensor* tensor) {
    tensors_.push_back(tensor);
    return tensor;
  }
  rk_tensor* Full(float value) {
    const Floats values(kN, value);
    rk_tensor* tensor = nullptr;
    EXPECT_EQ(rk_constant(rt_, &spec_, values.data(), "x", RK_INPUT, &tensor),
              RK_OK)
        << rk_last_error();
    return Own(tensor);
  }

  // input + 1; counts its runs in `user`, if there is one.
  static rk_status AddOne(const rk_kernel_args* args, void* user) {
    const auto* in = static_cast<const float*>(rk_args_input(args, 0));
    auto* out = static_cast<float*>(rk_args_output(args, 0));
    for (int64_t i = 0; i < kN; ++i) out[i] = in[i] + 1;
    if (user != nullptr) ++*static_cast<int*>(user);
    return RK_OK;
  }
  rk_tensor* Next(const rk_tensor* x, int* runs = nullptr) {
    rk_tensor* y = nullptr;
    EXPECT_EQ(
        rk_call(rt_, nullptr, &x, 1, &spec_, 1, AddOne, runs, nullptr, &y),
        RK_OK)
        << rk_last_error();
    return Own(y);
  }

  static Floats Values(const rk_tensor* tensor) {
    Floats values(rk_tensor_bytes(tensor) / sizeof(float));
    EXPECT_EQ(
        rk_tensor_to_host(tensor, values.data(), values.size() * sizeof(float)),
        RK_OK)
        << rk_last_error();
    return values;
  }

  const int64_t shape_[1] = {kN};
  const rk_spec spec_ = {RK_F32, 1, shape_};
  rk_runtime* rt_ = nullptr;

 private:
  std::vector<rk_tensor*> tensors_;
};

}  // namespace rekindle
