// Byte strings to ids: a hash table that finds the longest entry at the start of a text without allocating.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::text {

class PieceTable {
 public:
  struct Match {
    std::int32_t id;
    std::size_t size;  // bytes; 0 when nothing matches
  };

  PieceTable() = default;
  // Room for `count` entries before it grows.
  explicit PieceTable(std::size_t count);

  // False if `piece` is present already; the first id stays. `piece` must not be empty.
  bool insert(std::string_view piece, std::int32_t id);
  // The id of exactly this piece, or -1.
  std::int32_t find(std::string_view piece) const;
  // The longest entry at the start of `text` that does not end inside a UTF-8 character.
  Match longest(std::string_view text) const;

  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t offset = 0, size = 0;  // into bytes_; size 0: free
    std::int32_t id = 0;
  };
  void grow();
  const Slot* slot(std::string_view piece) const;

  std::vector<Slot> slots_;  // a power of two of them, at most half of them used
  std::string bytes_;
  std::size_t count_ = 0;
  std::vector<std::uint32_t> sizes_;  // the sizes that occur, longest first
};

}  // namespace weft::text
