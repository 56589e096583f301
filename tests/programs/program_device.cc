// SPDX-License-Identifier: Apache-2.0
#include "tests/programs/program_device.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rekindle/base/status_macros.h"

namespace rekindle::programs {
namespace {

constexpr int kRubbish = 0xA7;

uint32_t* WordsAt(DeviceAddress address) {
  return reinterpret_cast<uint32_t*>(address);  // NOLINT
}

std::vector<uint32_t*> WordsAt(const std::vector<DeviceAddress>& addresses) {
  std::vector<uint32_t*> words;
  for (DeviceAddress address : addresses) words.push_back(WordsAt(address));
  return words;
}

}  // namespace

ProgramDevice::ProgramDevice(DeviceKind kind, uint64_t seed) {
  if (kind == DeviceKind::kHost) {
    host_ = HostDevice::Open({kCapacity, kChunk, /*poison=*/true}).value();
    device_ = std::make_shared<FaultInjectingDevice>(*host_);
    return;
  }
  cuda::FakeDriverOptions options;
  options.memory = kCapacity;
  options.granularity = kChunk;
  options.seed = seed;
  std::unique_ptr<cuda::FakeCudaDevice> fake =
      cuda::FakeCudaDevice::Open(options, Log(LogLevel::kQuiet));
  fake_ = fake.get();
  device_ = std::move(fake);
}

cuda::FakeDriver* ProgramDevice::driver() {
  return fake_ == nullptr ? nullptr : &fake_->driver();
}

absl::Status ProgramDevice::Launch(Stream stream, std::vector<Range> ranges,
                                   std::function<void()> work) {
  if (fake_ == nullptr) {
    work();
    return absl::OkStatus();
  }
  std::vector<cuda::FakeRange> touched;
  for (const Range& range : ranges) {
    if (range.bytes > 0) touched.push_back({range.address, range.bytes});
  }
  const cuda::Result result = fake_->driver().Launch(
      cuda::ToDriver(stream), std::move(touched), std::move(work));
  if (result == cuda::Result::kSuccess) return absl::OkStatus();
  return absl::InternalError("a kernel could not be launched");
}

absl::Status ProgramDevice::RunKernel(const Behaviour& behaviour,
                                      const KernelRun& run) {
  const bool fails = ++kernel_runs_ == kernel_fault_.at;
  std::vector<Range> ranges = {{run.workspace, run.workspace_bytes}};
  for (size_t i = 0; i < run.inputs.size(); ++i) {
    ranges.push_back({run.inputs[i], behaviour.input_words[i] * 4});
  }
  for (size_t i = 0; i < run.outputs.size(); ++i) {
    ranges.push_back({run.outputs[i], behaviour.output_words[i] * 4});
  }
  RK_RETURN_IF_ERROR(Launch(run.stream, ranges, [behaviour, run, fails] {
    const size_t scratch = run.workspace_bytes;
    if (scratch > 0) std::memset(WordsAt(run.workspace), kRubbish, scratch);
    for (size_t i = 0; i < run.outputs.size(); ++i) {
      const size_t bytes = behaviour.output_words[i] * 4;
      if (bytes > 0) std::memset(WordsAt(run.outputs[i]), kRubbish, bytes);
    }
    if (fails) return;
    behaviour.Apply(WordsAt(run.inputs), WordsAt(run.outputs), run.draw);
  }));
  if (fails && kernel_fault_.throws) throw std::runtime_error("injected");
  return fails ? absl::UnavailableError("injected") : absl::OkStatus();
}

bool ProgramDevice::failed() const {
  const bool kernel = kernel_fault_.at > 0 && kernel_runs_ >= kernel_fault_.at;
  return kernel || !last_failed_driver_call().empty() ||
         device_->failures() > 0;
}

std::string ProgramDevice::last_failed_driver_call() const {
  return fake_ == nullptr ? "" : fake_->driver().last_failed();
}

absl::Status ProgramDevice::Put(Stream stream, DeviceAddress to, Words words) {
  return Launch(stream, {{to, words.size() * 4}}, [to, words] {
    std::copy(words.begin(), words.end(), WordsAt(to));
  });
}

absl::Status ProgramDevice::Compare(Stream stream, DeviceAddress from,
                                    Words words, std::string what) {
  const size_t bytes = words.size() * 4;
  return Launch(stream, {{from, bytes}},
                [this, from, words = std::move(words), what = std::move(what)] {
                  const uint32_t* found = WordsAt(from);
                  Compare(Words(found, found + words.size()), words, what);
                });
}

void ProgramDevice::Compare(const Words& found, const Words& words,
                            const std::string& what) {
  if (found == words || !wrong_.empty()) return;
  const auto differ =
      std::mismatch(words.begin(), words.end(), found.begin(), found.end());
  wrong_ = absl::StrCat("wrong bits: ", what, ", word ",
                        differ.first - words.begin(), " of ", words.size());
}

void ProgramDevice::RunSome(size_t most) {
  if (fake_ != nullptr) fake_->driver().RunSome(most);
}

void ProgramDevice::RunAll() { RunSome(std::numeric_limits<size_t>::max()); }

std::string ProgramDevice::wrong() const {
  if (!wrong_.empty() || fake_ == nullptr) return wrong_;
  const std::vector<cuda::Violation> violations = fake_->driver().violations();
  if (violations.empty()) return "";
  return absl::StrCat("rule ", violations[0].rule, ": ", violations[0].detail);
}

}  // namespace rekindle::programs
