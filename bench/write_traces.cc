// SPDX-License-Identifier: Apache-2.0
// Writes allocation traces of kinds that fragment memory, for `rekindle
// replay`:
//   write_traces FOLDER [OPERATIONS] [SEED]
//   rekindle replay FOLDER/*.csv --budget 1.1 [--allocator bfc]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "rekindle/base/units.h"

namespace rekindle {
namespace {

constexpr size_t kCapacity = 8 * kGiB;

// Requests that keep the live bytes below a capacity.
class Writer {
 public:
  Writer(const std::string& path, int64_t operations, uint64_t seed)
      : file_(path), operations_(operations), random_(seed) {
    file_ << "op,id,size\n";
  }

  bool done() const { return operations_ <= 0; }
  // Whether all of it is in the file.
  bool Close() {
    file_.close();
    return file_.good();
  }
  size_t Draw(size_t bound) { return random_() % bound; }

  // False: more would be alive than the capacity.
  bool Allocate(size_t bytes) {
    if (live_bytes_ + bytes > kCapacity || done()) return false;
    file_ << "A," << next_ << "," << bytes << "\n";
    live_.push_back({next_++, bytes});
    live_bytes_ += bytes;
    --operations_;
    return true;
  }

  void Free(size_t index) {
    std::swap(live_[index], live_.back());
    file_ << "F," << live_.back().first << "," << live_.back().second << "\n";
    live_bytes_ -= live_.back().second;
    live_.pop_back();
    --operations_;
  }

  void FreeRandom() {
    if (!live_.empty()) Free(Draw(live_.size()));
  }
  // Each with a chance of one in `one_in`.
  void FreeSome(size_t one_in) {
    for (size_t i = live_.size(); i-- > 0;) {
      if (Draw(one_in) == 0) Free(i);
    }
  }
  void FreeEveryOther() {
    for (size_t i = 0; i < live_.size(); ++i) Free(i);
  }

 private:
  std::ofstream file_;
  int64_t operations_;
  std::mt19937_64 random_;
  std::vector<std::pair<int64_t, size_t>> live_;
  size_t live_bytes_ = 0;
  int64_t next_ = 0;
};

// Sizes from 1 byte to an eighth of the capacity, in equal shares of their
// logarithm.
void Random(Writer& w) {
  while (!w.done()) {
    const size_t most = (kCapacity / 8) >> w.Draw(20);
    if (!w.Allocate(1 + w.Draw(most)) || w.Draw(3) == 0) w.FreeRandom();
  }
}

void Sawtooth(Writer& w) {
  for (size_t tooth = 0; !w.done(); ++tooth) {
    const size_t most = (kCapacity / 8) >> (tooth % 10);
    while (w.Allocate(1 + w.Draw(most))) {
    }
    w.FreeSome(1 + tooth % 3);
  }
}

void Doubling(Writer& w) {
  while (!w.done()) {
    for (size_t bytes = kMiB + w.Draw(kMiB); bytes <= kCapacity / 8;
         bytes *= 2) {
      while (w.Allocate(bytes)) {
      }
      w.FreeSome(1 + w.Draw(2));
    }
    w.FreeSome(1);
  }
}

void Combs(Writer& w) {
  while (!w.done()) {
    const size_t tooth = 1 + w.Draw(8 * kMiB);
    while (w.Allocate(tooth)) {
    }
    w.FreeEveryOther();
    while (w.Allocate(tooth + 1 + w.Draw(4 * kMiB))) {
    }
    w.FreeSome(1 + w.Draw(3));
  }
}

}  // namespace
}  // namespace rekindle

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4 || (argc > 2 && std::atoll(argv[2]) <= 0)) {
    std::fputs("usage: write_traces FOLDER [OPERATIONS] [SEED]\n", stderr);
    return 2;
  }
  const std::string folder = argv[1];
  const int64_t operations = argc > 2 ? std::atoll(argv[2]) : 250'000;
  const auto seed = static_cast<uint64_t>(argc > 3 ? std::atoll(argv[3]) : 1);
  const std::pair<const char*, void (*)(rekindle::Writer&)> kinds[] = {
      {"random", &rekindle::Random},
      {"sawtooth", &rekindle::Sawtooth},
      {"doubling", &rekindle::Doubling},
      {"combs", &rekindle::Combs}};
  for (const auto& [name, write] : kinds) {
    rekindle::Writer writer(folder + "/" + name + ".csv", operations, seed);
    write(writer);
    if (!writer.Close()) {
      std::fprintf(stderr, "write_traces: cannot write %s/%s.csv\n",
                   folder.c_str(), name);
      return 1;
    }
  }
  return 0;
}
