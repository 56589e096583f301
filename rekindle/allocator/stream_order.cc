// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/stream_order.h"

#include <algorithm>

#include "rekindle/allocator/give_back.h"
#include "rekindle/base/check.h"
#include "rekindle/base/status_macros.h"

namespace rekindle {

StreamOrder::StreamOrder(Device& device) : device_(device) { Add(Stream()); }

StreamOrder::~StreamOrder() {
  for (const Source& source : sources_) {
    if (!source.event.has_value()) continue;
    GiveBack([&] { return device_.DestroyEvent(*source.event); });
  }
}

StreamUse StreamOrder::Use(absl::Span<const Stream> streams) {
  StreamUse use;
  for (const Stream stream : streams) use.Add(Use(stream));
  return use;
}

size_t StreamOrder::Find(Stream stream) {
  const auto found = indices_.find(stream.handle);
  latest_index_ = found != indices_.end() ? found->second : Add(stream);
  latest_ = stream;
  return latest_index_;
}

// Takes the place of a stream that ended, if there is one: what was used up to
// now is done, and only what is used later counts for the new stream.
size_t StreamOrder::Add(Stream stream) {
  const auto place =
      std::find_if(sources_.begin(), sources_.end(),
                   [](const Source& source) { return source.ended; });
  const auto index = static_cast<size_t>(place - sources_.begin());
  const bool added = place == sources_.end();
  if (added) sources_.emplace_back();
  Source& source = sources_[index];
  if (!added) source.done = now_++;
  source.stream = stream;
  source.ended = false;
  source.after.clear();
  indices_[stream.handle] = index;
  return index;
}

uint64_t StreamOrder::After(size_t to, size_t from) const {
  const std::vector<uint64_t>& after = sources_[to].after;
  return from < after.size() ? after[from] : 0;
}

// The next stream, from `first` on, that stream `to` would have to wait for.
std::optional<size_t> StreamOrder::FindWait(const StreamUse& use, size_t to,
                                            size_t first) const {
  for (size_t from = first; from < sources_.size(); ++from) {
    if (from == to || !Has(use, from)) continue;
    if (use.time <= std::max(sources_[from].done, After(to, from))) continue;
    return from;
  }
  return std::nullopt;
}

absl::Status StreamOrder::WaitForOthers(const StreamUse& use, size_t to) {
  Source& waiter = sources_[to];
  for (std::optional<size_t> from = FindWait(use, to); from.has_value();
       from = FindWait(use, to, *from + 1)) {
    Source& source = sources_[*from];
    if (source.marked < use.time) RK_RETURN_IF_ERROR(Mark(source));
    RK_RETURN_IF_ERROR(device_.StreamWait(waiter.stream, *source.event));
    if (waiter.after.size() <= *from) waiter.after.resize(*from + 1);
    waiter.after[*from] = source.marked;
  }
  return absl::OkStatus();
}

absl::Status StreamOrder::Mark(Source& source) {
  // The event is about to forget what it marked before.
  if (source.marked > source.done) {
    const absl::StatusOr<bool> happened = device_.HasHappened(*source.event);
    if (happened.ok() && *happened) source.done = source.marked;
  }
  if (!source.event.has_value()) {
    RK_ASSIGN_OR_RETURN(source.event, device_.CreateEvent());
  }
  RK_RETURN_IF_ERROR(device_.Record(*source.event, source.stream));
  source.marked = now_++;
  return absl::OkStatus();
}

bool StreamOrder::IsDone(const StreamUse& use) const {
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (Has(use, i) && use.time > sources_[i].done) return false;
  }
  return true;
}

absl::StatusOr<bool> StreamOrder::Ask(const StreamUse& use) {
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (Has(use, i)) RK_RETURN_IF_ERROR(AskOne(sources_[i], use.time));
  }
  return IsDone(use);
}

absl::Status StreamOrder::AskOne(Source& source, uint64_t time) {
  while (time > source.done) {
    if (source.marked <= source.done) RK_RETURN_IF_ERROR(Mark(source));
    RK_ASSIGN_OR_RETURN(const bool happened,
                        device_.HasHappened(*source.event));
    if (!happened) break;
    source.done = source.marked;
  }
  return absl::OkStatus();
}

absl::Status StreamOrder::Finish(const StreamUse& use) {
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (!Has(use, i) || use.time <= sources_[i].done) continue;
    RK_RETURN_IF_ERROR(AskOne(sources_[i], use.time));
    if (use.time <= sources_[i].done) continue;
    RK_RETURN_IF_ERROR(FinishOne(sources_[i]));
  }
  return absl::OkStatus();
}

absl::Status StreamOrder::FinishOne(Source& source) {
  RK_RETURN_IF_ERROR(device_.Synchronize(source.stream));
  source.done = now_++;
  return absl::OkStatus();
}

void StreamOrder::FinishAll() {
  for (Source& source : sources_) {
    if (!source.ended) GiveBack([&] { return FinishOne(source); });
  }
}

void StreamOrder::End(Stream stream) {
  const auto found = indices_.find(stream.handle);
  if (stream == Stream() || found == indices_.end()) return;
  Source& source = sources_[found->second];
  source.ended = true;
  source.done = kAlways;
  indices_.erase(found);
  latest_ = Stream();
  latest_index_ = 0;
}

void StreamOrder::CheckInvariants() const {
  RK_CHECK(sources_[0].stream == Stream(), "the default stream comes first");
  size_t named = 0;
  for (size_t i = 0; i < sources_.size(); ++i) {
    const Source& source = sources_[i];
    RK_CHECK(source.marked < now_, "marks are past");
    RK_CHECK(source.ended ? source.done == kAlways : source.done < now_,
             "what is done is past");
    RK_CHECK(source.event.has_value() || source.marked == 0,
             "a mark is an event");
    for (size_t other = 0; other < source.after.size(); ++other) {
      RK_CHECK(source.after[other] <= sources_[other].marked,
               "a stream waits for marks");
    }
    if (source.ended) continue;
    ++named;
    const auto found = indices_.find(source.stream.handle);
    RK_CHECK(found != indices_.end() && found->second == i,
             "streams are found by handle");
  }
  RK_CHECK(named == indices_.size(), "streams that ended are not found");
}

}  // namespace rekindle
