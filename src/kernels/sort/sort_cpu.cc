// Sorting on the CPU, stable: rows of a few elements by counting the elements before each, longer ones by radix, least
// significant digit first; the top of a long row by a heap. Values whose keys determine their bits are sorted as keys,
// many rows of them at once by a network of comparisons, others as pairs of a key and an index.
#include <algorithm>
#include <bit>
#include <concepts>

#include "core/host_memory.h"
#include "kernels/common/rows_cpu.h"
#include "kernels/common/transpose.h"
#include "kernels/sort/sort.h"

namespace weft::kernels {
namespace {

constexpr std::int64_t kCounted = 64;     // most elements of a row that is sorted by counting
constexpr std::int64_t kPiece = 1 << 15;  // elements that are worth a core

// The functions between elements' bits and keys, without KeyRule's cases. element(key) is for keys that determine the
// bits of their elements, as exact() says of some elements.
template <class Raw>
struct IntegerKey {
  Raw flip;
  WEFT_INLINE Raw operator()(Raw raw) const { return raw ^ flip; }
  WEFT_INLINE Raw element(Raw key) const { return key ^ flip; }
  bool exact(const Raw*, std::int64_t) const { return true; }
};
template <class Raw>
struct BooleanKey {
  Raw flip;
  WEFT_INLINE Raw operator()(Raw raw) const { return static_cast<Raw>((raw != 0 ? 1 : 0) ^ flip); }
  WEFT_INLINE Raw element(Raw key) const { return key ^ flip; }
  bool exact(const Raw*, std::int64_t) const { return false; }  // any byte but 0 is true
};
template <class Raw>
struct FloatKey {
  Raw sign, infinity, flip, nan;
  WEFT_INLINE Raw operator()(Raw raw) const {
    const Raw magnitude = raw & static_cast<Raw>(sign - 1);
    const auto key = static_cast<Raw>(raw & sign ? sign - magnitude : sign + magnitude);
    return magnitude > infinity ? nan : static_cast<Raw>(key ^ flip);
  }
  WEFT_INLINE Raw element(Raw key) const {
    key ^= flip;
    return static_cast<Raw>(key < sign ? sign | static_cast<Raw>(sign - key) : key - sign);
  }
  // NaNs have one key, and so have zeros.
  WEFT_INLINE bool exact(const Raw* x, std::int64_t n) const {
    Raw found = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const Raw magnitude = x[i] & static_cast<Raw>(sign - 1);
      found |= static_cast<Raw>(magnitude > infinity ? 1 : 0);
      found |= static_cast<Raw>(x[i] == sign ? 1 : 0);
    }
    return found == 0;
  }
};

template <class Raw, class Key>
WEFT_VECTOR_CLONES bool is_exact(const Key& key, const Raw* x, std::int64_t n) {
  return key.exact(x, n);
}
template <class Raw, class Key>
WEFT_VECTOR_CLONES void keys_of(const Key& given, const Raw* x, std::int64_t n, Raw* keys) {
  const Key key = given;
  for (std::int64_t i = 0; i < n; ++i) keys[i] = key(x[i]);
}
template <class Raw, class Key>
WEFT_VECTOR_CLONES void elements_of(const Key& given, const Raw* keys, std::int64_t n, Raw* elements) {
  const Key key = given;
  for (std::int64_t i = 0; i < n; ++i) elements[i] = key.element(keys[i]);
}

// Calls f(key) with the functions of a rule.
template <class Raw, class F>
void with_key(const KeyRule& rule, F&& f) {
  const auto mask = static_cast<Raw>(rule.mask()), sign = static_cast<Raw>(Raw{1} << (rule.bits - 1));
  const Raw flip = rule.descending ? mask : Raw{0};
  switch (rule.kind) {
    case KeyRule::Kind::unsigned_integer:
      return f(IntegerKey<Raw>{flip});
    case KeyRule::Kind::signed_integer:
      return f(IntegerKey<Raw>{static_cast<Raw>(flip ^ sign)});
    case KeyRule::Kind::boolean:
      return f(BooleanKey<Raw>{flip});
    case KeyRule::Kind::floating:
      return f(FloatKey<Raw>{sign, static_cast<Raw>(rule.infinity), flip, mask});
  }
}

// places[i] = the number of elements that come before element i, of which there are `padded`, a multiple of 8.
WEFT_VECTOR_CLONES
void count_before(const std::uint64_t* keys, std::int64_t n, std::int64_t padded, std::uint64_t* places) {
  for (std::int64_t i = 0; i < padded; ++i) places[i] = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    const std::uint64_t key = keys[j];
    for (std::int64_t i = 0; i < padded; ++i) places[i] += (key < keys[i]) | ((key == keys[i]) & (j < i));
  }
}
// The same if no two keys are equal.
WEFT_VECTOR_CLONES
void count_less(const std::uint64_t* keys, std::int64_t n, std::int64_t padded, std::uint64_t* places) {
  for (std::int64_t i = 0; i < padded; ++i) places[i] = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    const std::uint64_t key = keys[j];
    for (std::int64_t i = 0; i < padded; ++i) places[i] += key < keys[i];
  }
}

// Calls f(begin, end, part) for parts of [0, n), each on a core of its own.
template <class F>
void in_parts(std::int64_t n, std::int64_t parts, F&& f) {
  const auto some = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) f(n * p / parts, n * (p + 1) / parts, p);
  };
  if (parts == 1)
    some(0, 1);
  else
    in_pieces(parts, 1, some);
}

// Pairs of a key's word and an index below 2^32, in one number.
std::uint64_t pair_of(std::uint64_t word, std::int64_t index) { return word << 32 | static_cast<std::uint64_t>(index); }
std::int64_t index_of(std::uint64_t pair) { return static_cast<std::int64_t>(pair & 0xffffffffu); }
// Of longer keys, or longer rows.
struct LongPair {
  std::uint64_t key;
  std::int64_t index;
  bool operator<(const LongPair& b) const { return key < b.key || (key == b.key && index < b.index); }
};

// Where element j of a result comes from, by a list. (No lambdas, so that rows of all keys are stored by the same
// loops.)
struct FromList {
  const std::int64_t* list;
  WEFT_INLINE std::int64_t operator()(std::int64_t j) const { return list[j]; }
};
struct FromPairs {
  const std::uint64_t* pairs;
  WEFT_INLINE std::int64_t operator()(std::int64_t j) const { return index_of(pairs[j]); }
};
struct FromLongPairs {
  const LongPair* pairs;
  WEFT_INLINE std::int64_t operator()(std::int64_t j) const { return pairs[j].index; }
};

template <std::unsigned_integral T>
T bits_to_sort(T element) {
  return element;
}
std::uint64_t bits_to_sort(const LongPair& pair) { return pair.key; }

// Sorts `list` by the elements' bits [first, last) on so many cores; `other` is memory for as many elements. The result
// is in the list that is returned.
template <class T>
T* radix_sort(T* list, T* other, std::int64_t n, int first, int last, std::int64_t cores) {
  constexpr std::int64_t kDigits = 256;
  const int passes = (last - first + 7) / 8;  // 1, 2, 4 or 8
  // Of each pass, if one core counts them together, and each part.
  std::vector<std::int64_t> counts(static_cast<std::size_t>((cores == 1 ? passes : cores) * kDigits));
  const auto digit = [first](const T& element, int pass) {
    return static_cast<std::int64_t>((bits_to_sort(element) >> (first + 8 * pass)) & 255);
  };
  const auto count_all = [=, of_digits = counts.data()]<int all>(std::integral_constant<int, all>) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (int p = 0; p < all; ++p) ++of_digits[p * kDigits + digit(list[i], p)];
    }
  };
  if (cores == 1) {
    if (passes == 1)
      count_all(std::integral_constant<int, 1>());
    else if (passes == 2)
      count_all(std::integral_constant<int, 2>());
    else if (passes == 4)
      count_all(std::integral_constant<int, 4>());
    else
      count_all(std::integral_constant<int, 8>());
  }
  for (int pass = 0; pass < passes; ++pass) {
    std::int64_t* const places = counts.data() + (cores == 1 ? pass * kDigits : 0);
    if (cores > 1) {
      std::ranges::fill(counts, 0);
      in_parts(n, cores, [=](std::int64_t begin, std::int64_t end, std::int64_t part) {
        std::int64_t* const of_digit = places + part * kDigits;
        for (std::int64_t i = begin; i < end; ++i) ++of_digit[digit(list[i], pass)];
      });
    }
    // If all elements have one digit they are in order already.
    std::int64_t same = 0, next = 0;
    for (std::int64_t p = 0; p < cores; ++p) same += places[p * kDigits + digit(list[0], pass)];
    if (same == n) continue;
    for (std::int64_t d = 0; d < kDigits; ++d) {
      for (std::int64_t p = 0; p < cores; ++p) next += std::exchange(places[p * kDigits + d], next);
    }
    in_parts(n, cores, [=](std::int64_t begin, std::int64_t end, std::int64_t part) {
      std::int64_t* const place = places + part * kDigits;
      for (std::int64_t i = begin; i < end; ++i) other[place[digit(list[i], pass)]++] = list[i];
    });
    std::swap(list, other);
  }
  return list;
}

// The rows that a network sorts at once, one in each lane of a vector; and the longest of them, whose lanes' memory a
// core's cache holds.
template <class Raw>
constexpr std::int64_t kLanes = 64 / static_cast<std::int64_t>(sizeof(Raw));
constexpr std::int64_t kNetwork = 8192;

template <class Raw>
WEFT_INLINE void exchange(Raw* a, Raw* b) {
  for (int c = 0; c < kLanes<Raw>; ++c) {
    const Raw low = std::min(a[c], b[c]), high = std::max(a[c], b[c]);
    a[c] = low, b[c] = high;
  }
}
// Batcher's odd-even merge sort (K. E. Batcher, "Sorting Networks and Their Applications", AFIPS 1968) of elements of
// kLanes rows each. `size` is a power of two; of its elements there are n, the others being the greatest.
template <class Raw>
WEFT_VECTOR_CLONES void merge_halves(Raw* list, std::int64_t size, std::int64_t n) {
  constexpr std::int64_t kRow = kLanes<Raw>;
  const std::int64_t half = size / 2;
  for (std::int64_t i = 0; i + half < n; ++i) exchange(list + i * kRow, list + (i + half) * kRow);
  for (std::int64_t k = half / 2; k > 0; k /= 2) {
    for (std::int64_t j = k; j + k < n; j += 2 * k) {
      const std::int64_t end = std::min(k, n - j - k);
      for (std::int64_t i = j; i < j + end; ++i) exchange(list + i * kRow, list + (i + k) * kRow);
    }
  }
}
template <class Raw>
void network_sort(Raw* list, std::int64_t size, std::int64_t n) {
  if (n < 2) return;
  const std::int64_t half = size / 2;
  network_sort(list, half, std::min(half, n));
  if (n > half) {
    network_sort(list + half * kLanes<Raw>, half, n - half);
    merge_halves(list, size, n);
  }
}

// y[j][i] = x[i][j] of rows × cols elements, both multiples of eight.
template <class Raw>
WEFT_VECTOR_CLONES void transpose_rows(const Raw* x, std::int64_t x_row, std::int64_t rows, std::int64_t cols, Raw* y,
                                       std::int64_t y_row) {
  for (std::int64_t j = 0; j < cols; j += 8) {
    for (std::int64_t i = 0; i < rows; i += 8) transpose8(x + i * x_row + j, x_row, y + j * y_row + i, y_row);
  }
}

// Memory for lists, which only grows.
class Memory {
 public:
  template <class T>
  T* need(std::int64_t count) {
    const double bytes = static_cast<double>(count) * sizeof(T);
    if (static_cast<double>(buffer_.size()) < bytes) {
      if (bytes > static_cast<double>(physical_memory())) throw std::bad_alloc();
      buffer_ = Buffer::host(static_cast<std::uint64_t>(count) * sizeof(T));
    }
    return reinterpret_cast<T*>(buffer_.data());
  }

 private:
  Buffer buffer_;
};

// Rows of elements as bits, one at a time.
template <class Raw>
class RowAccess {
 public:
  explicit RowAccess(const SortProblem& p) : p_(p), packed_(bits(p.x.dtype) < 8) {}

  void go_to(std::int64_t row) {
    if (row < first_ || row >= first_ + kRows) {
      const std::int64_t count = std::min(kRows, p_.rows - row);
      for (int k = 0; k < 3; ++k) offsets_of({p_.outer.shape, p_.outer.strides[k]}, row, count, starts_[k]);
      first_ = row;
    }
    for (int k = 0; k < 3; ++k) start_[k] = starts_[k][row - first_];
  }
  // The row's elements, dense.
  const Raw* elements() {
    if (!packed_ && p_.steps[0] == 1) return data<const Raw>(p_.x) + start_[0];
    Raw* const dense = memory_.need<Raw>(p_.length);
    if (packed_) {
      by_numbers(p_.length, [&](std::int64_t j, int n, std::uint64_t* numbers) {
        load_block(p_.x.dtype)(p_.x.buffer.data() + p_.x.offset, start_[0] + j * p_.steps[0], p_.steps[0], n, numbers);
        for (int i = 0; i < n; ++i) dense[j + i] = static_cast<Raw>(numbers[i]);
      });
    } else {
      const Raw* const x = data<const Raw>(p_.x) + start_[0];
      for (std::int64_t j = 0; j < p_.length; ++j) dense[j] = x[j * p_.steps[0]];
    }
    return dense;
  }
  // Memory of all values, if it is dense.
  Raw* dense_values() const {
    const bool dense = p_.values && !packed_ && p_.steps[1] == 1 && p_.keep == p_.length;
    return dense ? data<Raw>(*p_.values) + start_[1] : nullptr;
  }
  // Stores the first values of the result: value(j) for element j.
  template <class F>
  void store_values(std::int64_t cores, const F& value) const {
    if (!p_.values) return;
    const std::int64_t step = p_.steps[1];
    if (packed_) {
      by_numbers(p_.keep, [&](std::int64_t j, int n, std::uint64_t* numbers) {
        for (int i = 0; i < n; ++i) numbers[i] = value(j + i);
        store_block(p_.values->dtype)(p_.values->buffer.data() + p_.values->offset, start_[1] + j * step, step, n,
                                      numbers);
      });
      return;
    }
    Raw* const y = data<Raw>(*p_.values) + start_[1];
    in_parts(p_.keep, cores, [y, step, value](std::int64_t begin, std::int64_t end, std::int64_t) {
      if (step == 1) {
        WEFT_INDEPENDENT
        for (std::int64_t j = begin; j < end; ++j) y[j] = value(j);
      } else {
        for (std::int64_t j = begin; j < end; ++j) y[j * step] = value(j);
      }
    });
  }
  template <class F>
  void store_indices(std::int64_t cores, const F& index) const {
    if (!p_.indices) return;
    const auto store = [&]<class T>(T* y) {
      in_parts(p_.keep, cores, [&](std::int64_t begin, std::int64_t end, std::int64_t) {
        for (std::int64_t j = begin; j < end; ++j) y[j * p_.steps[2]] = static_cast<T>(index(j));
      });
    };
    if (bits(p_.indices->dtype) == 32)
      store(data<std::uint32_t>(*p_.indices) + start_[2]);
    else
      store(data<std::int64_t>(*p_.indices) + start_[2]);
  }
  // Stores values and indices: element j of the result is element from(j) of the row.
  template <class F>
  void store(std::int64_t cores, const Raw* x, const F& from) const {
    store_values(cores, [&](std::int64_t j) { return x[from(j)]; });
    store_indices(cores, from);
  }

 private:
  template <class F>
  static void by_numbers(std::int64_t count, const F& f) {
    std::uint64_t numbers[512];
    for (std::int64_t j = 0; j < count; j += 512)
      f(j, static_cast<int>(std::min<std::int64_t>(512, count - j)), numbers);
  }

  static constexpr std::int64_t kRows = 64;

  const SortProblem& p_;
  bool packed_;
  std::int64_t first_ = -kRows;  // of the rows whose starts are known
  std::int64_t starts_[3][kRows];
  std::array<std::int64_t, 3> start_{};
  Memory memory_;
};

template <class Raw, class Key>
class RowSorter {
 public:
  RowSorter(const SortProblem& p, const Key& key, std::int64_t cores) : p_(p), key_(key), cores_(cores), row_(p) {}

  // Whether rows are sorted by a network, as many at once as it has lanes.
  static bool by_network(const SortProblem& p) {
    return sizeof(Raw) >= 4 && !p.indices && p.keep == p.length && p.length <= kNetwork;
  }

  void sort(std::int64_t begin, std::int64_t end) {
    if (!by_network(p_)) {
      for (std::int64_t row = begin; row < end; ++row) sort(row);
      return;
    }
    // The rows that the network sorts, as keys.
    constexpr std::int64_t kMost = kLanes<Raw>;
    std::int64_t rows[kMost], count = 0;
    pitch_ = ceil_div(p_.length, 8) * 8;
    Raw* const keys = network_.need<Raw>(2 * kMost * pitch_);
    for (std::int64_t row = begin; row < end; ++row) {
      row_.go_to(row);
      const Raw* const x = row_.elements();
      if (!is_exact(key_, x, p_.length)) {
        sort(row);
        continue;
      }
      keys_of(key_, x, p_.length, keys + count * pitch_);
      rows[count++] = row;
      if (count == kMost) rows_at_once(keys, rows, std::exchange(count, 0));
    }
    if (count >= kMost / 4) return rows_at_once(keys, rows, count);
    for (std::int64_t i = 0; i < count; ++i) sort(rows[i]);
  }

 private:
  void sort(std::int64_t row) {
    row_.go_to(row);
    const Raw* const x = row_.elements();
    if (p_.length <= kCounted)
      by_counting(x);
    else if (p_.keep <= p_.length / kFewOf)
      top(x);
    else if (!p_.indices && key_.exact(x, p_.length))
      values(x);
    else if (p_.length > std::int64_t{1} << 32)
      long_pairs(x);
    else if constexpr (sizeof(Raw) == 8)
      wide_pairs(x);
    else
      pairs(x);
  }

  static constexpr std::int64_t kFewOf = 16;  // a top of more elements comes from the sorted row

  void rows_at_once(Raw* keys, const std::int64_t* rows, std::int64_t count) {
    constexpr std::int64_t kMost = kLanes<Raw>;
    Raw* const list = keys + kMost * pitch_;  // [elements][rows]
    transpose_rows(keys, pitch_, kMost, pitch_, list, kMost);
    network_sort(list, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(p_.length))), p_.length);
    transpose_rows(list, kMost, pitch_, kMost, keys, pitch_);
    for (std::int64_t i = 0; i < count; ++i) {
      row_.go_to(rows[i]);
      const Raw* const sorted = keys + i * pitch_;
      if (Raw* const dense = row_.dense_values())
        elements_of(key_, sorted, p_.length, dense);
      else
        row_.store_values(1, [key = key_, sorted](std::int64_t j) { return key.element(sorted[j]); });
    }
  }

  void by_counting(const Raw* x) const {
    std::uint64_t keys[kCounted], places[kCounted];
    std::int64_t from[kCounted];
    const std::int64_t n = p_.length, padded = ceil_div(n, 8) * 8;
    if constexpr (sizeof(Raw) == 8) {
      for (std::int64_t i = 0; i < n; ++i) keys[i] = key_(x[i]);
    } else {
      for (std::int64_t i = 0; i < n; ++i) keys[i] = pair_of(key_(x[i]), i);
    }
    for (std::int64_t i = n; i < padded; ++i) keys[i] = ~std::uint64_t{0};
    if constexpr (sizeof(Raw) == 8)
      count_before(keys, n, padded, places);
    else
      count_less(keys, n, padded, places);
    for (std::int64_t i = 0; i < n; ++i) from[places[i]] = i;
    row_.store(1, x, FromList{from});
  }

  // A heap of the first elements so far, the last of them at its front.
  void top(const Raw* x) const {
    std::vector<LongPair> heap;
    for (std::int64_t j = 0; j < p_.length; ++j) {
      const std::uint64_t key = key_(x[j]);
      if (static_cast<std::int64_t>(heap.size()) == p_.keep) {
        if (key >= heap.front().key) continue;
        std::ranges::pop_heap(heap, std::less<LongPair>());
        heap.pop_back();
      }
      heap.push_back({key, j});
      std::ranges::push_heap(heap, std::less<LongPair>());
    }
    std::ranges::sort_heap(heap, std::less<LongPair>());
    row_.store(1, x, FromLongPairs{heap.data()});
  }

  void values(const Raw* x) {
    Raw* const memory = memory_.need<Raw>((row_.dense_values() ? 1 : 2) * p_.length);
    Raw* const list = row_.dense_values() ? row_.dense_values() : memory + p_.length;
    in_parts(p_.length, cores_, [&](std::int64_t begin, std::int64_t end, std::int64_t) {
      const Key key = key_;
      for (std::int64_t i = begin; i < end; ++i) list[i] = key(x[i]);
    });
    const Raw* const sorted = radix_sort(list, memory, p_.length, 0, p_.rule.bits, cores_);
    row_.store_values(cores_, [key = key_, sorted](std::int64_t j) { return key.element(sorted[j]); });
  }

  // Pairs of the index and a part of the key.
  template <class F>
  std::uint64_t* pairs_of(const F& word) {
    auto* const list = memory_.need<std::uint64_t>(2 * p_.length);
    in_parts(p_.length, cores_, [&](std::int64_t begin, std::int64_t end, std::int64_t) {
      for (std::int64_t j = begin; j < end; ++j) list[j] = pair_of(word(j), j);
    });
    return list;
  }

  void pairs(const Raw* x) {
    std::uint64_t* const list = pairs_of([key = key_, x](std::int64_t j) { return key(x[j]); });
    const std::uint64_t* const sorted = radix_sort(list, list + p_.length, p_.length, 32, 32 + p_.rule.bits, cores_);
    row_.store(cores_, x, FromPairs{sorted});
  }

  // Keys of 64 bits: by their high words, then runs of equal ones by their low words.
  void wide_pairs(const Raw* x) {
    const std::int64_t n = p_.length;
    std::uint64_t* const list = pairs_of([key = key_, x](std::int64_t j) { return key(x[j]) >> 32; });
    std::uint64_t* const sorted = radix_sort(list, list + n, n, 32, 64, cores_);
    std::uint64_t* const other = sorted == list ? list + n : list;
    for (std::int64_t begin = 0, end = 0; begin < n; begin = end) {
      while (end < n && sorted[end] >> 32 == sorted[begin] >> 32) ++end;
      if (end - begin == 1) continue;
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t index = index_of(sorted[i]);
        sorted[i] = pair_of(key_(x[index]) & 0xffffffffu, index);
      }
      if (end - begin <= kCounted) {
        std::sort(sorted + begin, sorted + end);
        continue;
      }
      const std::uint64_t* const run =
          radix_sort(sorted + begin, other + begin, end - begin, 32, 64, end - begin < 2 * kPiece ? 1 : cores_);
      if (run != sorted + begin) std::copy(run, run + (end - begin), sorted + begin);
    }
    row_.store(cores_, x, FromPairs{sorted});
  }

  void long_pairs(const Raw* x) {
    auto* const list = memory_.need<LongPair>(2 * p_.length);
    for (std::int64_t j = 0; j < p_.length; ++j) list[j] = {key_(x[j]), j};
    const LongPair* const sorted = radix_sort(list, list + p_.length, p_.length, 0, p_.rule.bits, cores_);
    row_.store(cores_, x, FromLongPairs{sorted});
  }

  const SortProblem& p_;
  Key key_;
  std::int64_t cores_;
  RowAccess<Raw> row_;
  Memory memory_, network_;
  std::int64_t pitch_ = 0;  // of rows of keys
};

}  // namespace

void sort_cpu(cpu::Executor& executor, const SortProblem& p) {
  // One long row is sorted by all cores, many rows by one core each. Types of less than a byte share bytes between
  // rows.
  const bool packed = bits(p.x.dtype) < 8, long_row = p.rows < executor.threads() && p.length > 2 * kPiece;
  const std::int64_t cores = long_row ? std::min<std::int64_t>(executor.threads(), p.length / kPiece) : 1;
  with_bits(std::max(bits(p.x.dtype), 8), [&]<class Raw>() {
    with_key<Raw>(p.rule, [&](const auto& key) {
      using Sorter = RowSorter<Raw, std::remove_cvref_t<decltype(key)>>;
      const auto rows = [&](std::int64_t begin, std::int64_t end) { Sorter(p, key, cores).sort(begin, end); };
      const std::int64_t least = Sorter::by_network(p) ? kLanes<Raw> : 1;
      if (long_row || packed)
        rows(0, p.rows);
      else
        parallel(executor, p.rows, std::max<std::int64_t>(4096 / p.length, least), rows);
    });
  });
}

}  // namespace weft::kernels
