// SPDX-License-Identifier: Apache-2.0
// Nothing that C can pass brings the program down.
#include <cstdlib>

#include "tests/c/c_fixture.h"

namespace rekindle {
namespace {

using ::testing::HasSubstr;

class CBadArgumentsTest : public CTest {
 protected:
  void ExpectInvalid(rk_status status, const char* words) {
    EXPECT_EQ(status, RK_INVALID_ARGUMENT);
    EXPECT_THAT(rk_last_error(), HasSubstr(words));
  }
};

TEST_F(CBadArgumentsTest, NullIsNamed) {
  rk_tensor* out = nullptr;
  rk_guard* guard = nullptr;
  uint64_t word = 0;
  rk_stream stream = 0;
  rk_stats stats = RK_STATS_INIT;
  ExpectInvalid(rk_runtime_create(nullptr, nullptr), "NULL");
  ExpectInvalid(rk_begin_step(nullptr), "the runtime is NULL");
  ExpectInvalid(rk_set_budget(nullptr, 1), "the runtime is NULL");
  ExpectInvalid(rk_minimum_budget(nullptr, &word), "the runtime is NULL");
  ExpectInvalid(rk_minimum_budget(rt_, nullptr), "NULL");
  ExpectInvalid(rk_create_stream(rt_, nullptr), "NULL");
  ExpectInvalid(rk_create_stream(nullptr, &stream), "the runtime is NULL");
  ExpectInvalid(rk_get_stats(rt_, nullptr), "NULL");
  ExpectInvalid(rk_get_stats(nullptr, &stats), "the runtime is NULL");
  ExpectInvalid(rk_write_memory_snapshot(rt_, nullptr), "the path is NULL");
  ExpectInvalid(rk_constant(rt_, nullptr, nullptr, "x", RK_INPUT, &out),
                "the spec is NULL");
  ExpectInvalid(rk_constant(nullptr, &spec_, nullptr, "x", RK_INPUT, &out),
                "the runtime is NULL");
  ExpectInvalid(rk_constant(rt_, &spec_, nullptr, "x", RK_INPUT, nullptr),
                "NULL");
  ExpectInvalid(rk_tensor_copy(nullptr, &out), "the tensor is NULL");
  ExpectInvalid(rk_tensor_read(nullptr, 0, &guard), "the tensor is NULL");
  ExpectInvalid(rk_tensor_write(nullptr, 0, &guard), "the tensor is NULL");
  ExpectInvalid(rk_tensor_keep(nullptr, &guard), "the tensor is NULL");
  ExpectInvalid(rk_tensor_detach(nullptr), "the tensor is NULL");
  ExpectInvalid(rk_tensor_to_host(Full(1), nullptr, 4 * kN), "NULL");
  ExpectInvalid(rk_tensor_spec(Full(1), nullptr), "NULL");
  ExpectInvalid(rk_call(rt_, nullptr, nullptr, 1, &spec_, 1, AddOne, nullptr,
                        nullptr, &out),
                "inputs is NULL");
  ExpectInvalid(rk_call(rt_, nullptr, nullptr, 0, nullptr, 1, AddOne, nullptr,
                        nullptr, &out),
                "outputs is NULL");
  ExpectInvalid(rk_import_dlpack(rt_, nullptr, "x", RK_INPUT, &out), "");
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(guard, nullptr);
}

TEST_F(CBadArgumentsTest, ReleasingNullDoesNothing) {
  rk_runtime_release(nullptr);
  rk_tensor_release(nullptr);
  rk_guard_release(nullptr);
  rk_generator_release(nullptr);
  rk_scope_release(nullptr);
  EXPECT_EQ(rk_guard_address(nullptr), nullptr);
  EXPECT_EQ(rk_tensor_bytes(nullptr), 0u);
  EXPECT_EQ(rk_tensor_evict(nullptr), 0);
  EXPECT_EQ(rk_tensor_is_resident(nullptr), 0);
  EXPECT_EQ(rk_args_input(nullptr, 0), nullptr);
}

TEST_F(CBadArgumentsTest, SpecsAreChecked) {
  rk_tensor* out = nullptr;
  const int64_t negative[] = {-1};
  for (const rk_spec& spec :
       {rk_spec{static_cast<rk_dtype>(9), 1, shape_},
        rk_spec{RK_F32, -1, shape_}, rk_spec{RK_F32, 1, nullptr},
        rk_spec{RK_F32, 1, negative}}) {
    EXPECT_EQ(rk_constant(rt_, &spec, nullptr, "x", RK_INPUT, &out),
              RK_INVALID_ARGUMENT);
    EXPECT_EQ(rk_call(rt_, nullptr, nullptr, 0, &spec, 1, AddOne, nullptr,
                      nullptr, &out),
              RK_INVALID_ARGUMENT);
    EXPECT_THAT(rk_last_error(), HasSubstr("output 0"));
  }
}

TEST_F(CBadArgumentsTest, NumbersOfNoEnumAreNamed) {
  rk_tensor* out = nullptr;
  ExpectInvalid(
      rk_constant(rt_, &spec_, nullptr, "x", static_cast<rk_kind>(17), &out),
      "no rk_kind has the number 17");
  rk_call_options options = RK_CALL_INIT;
  options.keep = static_cast<rk_keep>(18);
  ExpectInvalid(rk_call(rt_, &options, nullptr, 0, &spec_, 1, AddOne, nullptr,
                        nullptr, &out),
                "no rk_keep has the number 18");
}

TEST_F(CBadArgumentsTest, StructsOfAnotherVersionAreRefused) {
  rk_options options = RK_OPTIONS_INIT;
  options.struct_size = 0;
  rk_runtime* other = nullptr;
  ExpectInvalid(rk_runtime_create(&options, &other), "RK_OPTIONS_INIT");
  rk_stats stats = RK_STATS_INIT;
  --stats.struct_size;
  ExpectInvalid(rk_get_stats(rt_, &stats), "RK_STATS_INIT");
  rk_call_options call = RK_CALL_INIT;
  ++call.struct_size;
  ExpectInvalid(rk_call(rt_, &call, nullptr, 0, nullptr, 0, AddOne, nullptr,
                        nullptr, nullptr),
                "RK_CALL_INIT");
}

TEST_F(CBadArgumentsTest, OptionsAndVariablesAreChecked) {
  rk_runtime* other = nullptr;
  rk_options options = RK_OPTIONS_INIT;
  options.budget = "12";
  ExpectInvalid(rk_runtime_create(&options, &other), "12");
  options.budget = nullptr;
  options.policy = "best";
  ExpectInvalid(rk_runtime_create(&options, &other), "best");
  setenv("REKINDLE_BUDGET", "lots", 1);
  ExpectInvalid(rk_runtime_create(nullptr, &other), "REKINDLE_BUDGET");
  unsetenv("REKINDLE_BUDGET");
  EXPECT_EQ(other, nullptr);
}

TEST_F(CBadArgumentsTest, CallsAreChecked) {
  rk_tensor* out = nullptr;
  const rk_tensor* const x = Full(1);
  const int beyond = 1;
  rk_call_options options = RK_CALL_INIT;
  options.mutates = &beyond;
  options.mutate_count = 1;
  ExpectInvalid(
      rk_call(rt_, &options, &x, 1, &spec_, 1, AddOne, nullptr, nullptr, &out),
      "mutates names input 1");
  options.mutates = nullptr;
  ExpectInvalid(
      rk_call(rt_, &options, &x, 1, &spec_, 1, AddOne, nullptr, nullptr, &out),
      "mutates is NULL");
  ExpectInvalid(
      rk_call(rt_, nullptr, &x, 1, &spec_, 1, nullptr, nullptr, nullptr, &out),
      "kernel is NULL");
}

TEST_F(CBadArgumentsTest, TensorOfAnotherRuntimeIsRefused) {
  rk_options options = RK_OPTIONS_INIT;
  options.device = "host";
  options.budget = "1MiB";
  rk_runtime* other = nullptr;
  ASSERT_EQ(rk_runtime_create(&options, &other), RK_OK);
  const rk_tensor* const x = Full(1);
  rk_tensor* out = nullptr;
  ExpectInvalid(
      rk_call(other, nullptr, &x, 1, &spec_, 1, AddOne, nullptr, nullptr, &out),
      "another runtime");
  rk_runtime_release(other);
}

TEST_F(CBadArgumentsTest, WrongSizeForTheHostIsNamed) {
  Floats room(1);
  ExpectInvalid(rk_tensor_to_host(Full(1), room.data(), 4), "room for 4 bytes");
}

}  // namespace
}  // namespace rekindle
