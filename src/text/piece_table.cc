#include "text/piece_table.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/utf8.h"

namespace weft::text {
namespace {

// Eight bytes a step, multiplied and folded; good enough for the short strings of a vocabulary.
std::uint32_t hash_of(std::string_view piece) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15u;
  std::uint64_t hash = piece.size() * kOdd;
  const char* at = piece.data();
  std::size_t left = piece.size();
  for (; left > 0; left -= std::min<std::size_t>(left, 8), at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, std::min<std::size_t>(left, 8));
    hash = (hash ^ word) * kOdd;
    hash ^= hash >> 29;
  }
  return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

}  // namespace

PieceTable::PieceTable(std::size_t count) : slots_(std::bit_ceil(std::max<std::size_t>(2 * count, 16))) {}

const PieceTable::Slot* PieceTable::slot(std::string_view piece) const {
  const std::uint32_t hash = hash_of(piece);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (!slot.size) return &slot;
    if (slot.hash == hash && slot.size == piece.size() &&
        !std::memcmp(bytes_.data() + slot.offset, piece.data(), piece.size())) {
      return &slot;
    }
  }
}

bool PieceTable::insert(std::string_view piece, std::int32_t id) {
  if (2 * (count_ + 1) > slots_.size()) grow();
  auto* free = const_cast<Slot*>(slot(piece));
  if (free->size) return false;
  const auto size = static_cast<std::uint32_t>(piece.size());
  *free = {hash_of(piece), static_cast<std::uint32_t>(bytes_.size()), size, id};
  bytes_ += piece;
  ++count_;
  const auto place = std::ranges::lower_bound(sizes_, size, std::greater());
  if (place == sizes_.end() || *place != size) sizes_.insert(place, size);
  return true;
}

void PieceTable::grow() {
  std::vector<Slot> old(std::max<std::size_t>(2 * slots_.size(), 16));
  old.swap(slots_);
  for (const Slot& entry : old) {
    if (entry.size) *const_cast<Slot*>(slot({bytes_.data() + entry.offset, entry.size})) = entry;
  }
}

std::int32_t PieceTable::find(std::string_view piece) const {
  if (!count_ || piece.empty()) return -1;
  const Slot* found = slot(piece);
  return found->size ? found->id : -1;
}

PieceTable::Match PieceTable::longest(std::string_view text) const {
  for (auto size = std::ranges::lower_bound(sizes_, text.size(), std::greater()); size != sizes_.end(); ++size) {
    if (*size < text.size() && is_continuation(text[*size])) continue;
    const Slot* found = slot(text.substr(0, *size));
    if (found->size) return {found->id, *size};
  }
  return {-1, 0};
}

}  // namespace weft::text
