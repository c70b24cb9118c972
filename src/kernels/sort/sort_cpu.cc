// Sorting on the CPU, stable: rows of a few elements by counting the elements before each, longer ones by radix, least
// significant digit first; the top of a long row by a heap.
#include <algorithm>

#include "core/host_memory.h"
#include "kernels/common/rows_cpu.h"
#include "kernels/sort/sort.h"

namespace weft::kernels {
namespace {

constexpr std::int64_t kCounted = 64;       // most elements of a row that is sorted by counting
constexpr std::int64_t kShortDigits = 2048;  // shorter rows have digits of 8 bits, longer ones of up to 11
constexpr std::int64_t kPiece = 1 << 15;    // elements that are worth a core

// Calls f(key) with a function from an element's bits to its key; rule() without its cases.
template <class F>
void with_key(const KeyRule& rule, F&& f) {
  const std::uint64_t mask = rule.mask(), sign = std::uint64_t{1} << (rule.bits - 1), inverted = rule.descending ? mask : 0;
  switch (rule.kind) {
    case KeyRule::Kind::unsigned_integer: return f([=](std::uint64_t raw) { return raw ^ inverted; });
    case KeyRule::Kind::signed_integer: return f([=](std::uint64_t raw) { return raw ^ sign ^ inverted; });
    case KeyRule::Kind::boolean: return f([=](std::uint64_t raw) { return (raw != 0) ^ inverted; });
    case KeyRule::Kind::floating:
      return f([=, infinity = rule.infinity](std::uint64_t raw) {
        const std::uint64_t magnitude = raw & (sign - 1), key = raw & sign ? sign - magnitude : sign + magnitude;
        return magnitude > infinity ? mask : key ^ inverted;
      });
  }
}

// places[i] = the number of elements that come before element i. `padded` is a multiple of 8.
WEFT_VECTOR_CLONES
void count_before(const std::uint64_t* keys, std::int64_t n, std::int64_t padded, std::uint64_t* places) {
  for (std::int64_t i = 0; i < padded; ++i) places[i] = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    const std::uint64_t key = keys[j];
    for (std::int64_t i = 0; i < padded; ++i) places[i] += (key < keys[i]) | ((key == keys[i]) & (j < i));
  }
}

// Calls f(begin, end, part) for parts of [0, n), each on a core of its own.
template <class F>
void in_parts(std::int64_t n, std::int64_t parts, F&& f) {
  const auto some = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) f(n * p / parts, n * (p + 1) / parts, p);
  };
  if (parts == 1) some(0, 1);
  else in_pieces(parts, 1, some);
}

// Sorts `list` by the low `bits` bits of key(element) on so many cores; `other` is memory for as many elements. The
// result is in the list that is returned.
template <class T, class Key>
T* radix_sort(T* list, T* other, std::int64_t n, int bits, std::int64_t cores, const Key& key) {
  const int most = n < kShortDigits ? 8 : 11, passes = (bits + most - 1) / most, digit = (bits + passes - 1) / passes;
  const std::int64_t buckets = std::int64_t{1} << digit;
  std::vector<std::int64_t> places(static_cast<std::size_t>(cores * buckets));
  for (int shift = 0; shift < bits; shift += digit) {
    const auto bucket = [&](const T& element) {
      return static_cast<std::int64_t>((key(element) >> shift) & static_cast<std::uint64_t>(buckets - 1));
    };
    std::ranges::fill(places, 0);
    in_parts(n, cores, [&](std::int64_t begin, std::int64_t end, std::int64_t part) {
      std::int64_t* const count = places.data() + part * buckets;
      for (std::int64_t i = begin; i < end; ++i) ++count[bucket(list[i])];
    });
    // If all elements have one digit they are in order already.
    std::int64_t same = 0, next = 0;
    for (std::int64_t p = 0; p < cores; ++p) same += places[static_cast<std::size_t>(p * buckets + bucket(list[0]))];
    if (same == n) continue;
    for (std::int64_t b = 0; b < buckets; ++b) {
      for (std::int64_t p = 0; p < cores; ++p) {
        next += std::exchange(places[static_cast<std::size_t>(p * buckets + b)], next);
      }
    }
    in_parts(n, cores, [&](std::int64_t begin, std::int64_t end, std::int64_t part) {
      std::int64_t* const place = places.data() + part * buckets;
      for (std::int64_t i = begin; i < end; ++i) other[place[bucket(list[i])]++] = list[i];
    });
    std::swap(list, other);
  }
  return list;
}

// Pairs of a key's word and an index below 2^32, in one number.
std::uint64_t pair_of(std::uint64_t word, std::int64_t index) { return word << 32 | static_cast<std::uint64_t>(index); }
std::int64_t index_of(std::uint64_t pair) { return static_cast<std::int64_t>(pair & 0xffffffffu); }
std::uint64_t* sort_pairs(std::uint64_t* list, std::uint64_t* other, std::int64_t n, int bits, std::int64_t cores) {
  return radix_sort(list, other, n, bits, cores, [](std::uint64_t pair) { return pair >> 32; });
}
// Of longer keys, or longer rows.
struct LongPair {
  std::uint64_t key;
  std::int64_t index;
  bool operator<(const LongPair& b) const { return key < b.key || (key == b.key && index < b.index); }
};

// Memory for lists, which only grows.
class Memory {
 public:
  template <class T>
  T* need(std::int64_t count) {
    if (static_cast<double>(count) * sizeof(T) > static_cast<double>(physical_memory())) throw std::bad_alloc();
    const std::uint64_t bytes = static_cast<std::uint64_t>(count) * sizeof(T);
    if (buffer_.size() < bytes) buffer_ = Buffer::host(bytes);
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
    for (int k = 0; k < 3; ++k) start_[k] = offset_of({p_.outer.shape, p_.outer.strides[k]}, row);
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
    in_parts(p_.keep, cores, [&](std::int64_t begin, std::int64_t end, std::int64_t) {
      for (std::int64_t j = begin; j < end; ++j) y[j * step] = value(j);
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
    if (bits(p_.indices->dtype) == 32) store(data<std::uint32_t>(*p_.indices) + start_[2]);
    else store(data<std::int64_t>(*p_.indices) + start_[2]);
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
    for (std::int64_t j = 0; j < count; j += 512) f(j, static_cast<int>(std::min<std::int64_t>(512, count - j)), numbers);
  }

  const SortProblem& p_;
  bool packed_;
  std::array<std::int64_t, 3> start_{};
  Memory memory_;
};

template <class Raw, class Key>
class RowSorter {
 public:
  RowSorter(const SortProblem& p, const Key& key, std::int64_t cores) : p_(p), key_(key), cores_(cores), row_(p) {}

  void sort(std::int64_t row) {
    row_.go_to(row);
    const Raw* const x = row_.elements();
    if (p_.length <= kCounted) by_counting(x);
    else if (p_.keep <= p_.length / kFewOf) top(x);
    else if (!p_.indices) values(x);
    else if (p_.length > std::int64_t{1} << 32) long_pairs(x);
    else if constexpr (sizeof(Raw) == 8) wide_pairs(x);
    else pairs(x);
  }

 private:
  static constexpr std::int64_t kFewOf = 16;  // a top of more elements comes from the sorted row

  void by_counting(const Raw* x) const {
    std::uint64_t keys[kCounted], places[kCounted];
    std::int64_t from[kCounted];
    const std::int64_t n = p_.length, padded = ceil_div(n, 8) * 8;
    for (std::int64_t i = 0; i < n; ++i) keys[i] = key_(x[i]);
    for (std::int64_t i = n; i < padded; ++i) keys[i] = ~std::uint64_t{0};
    count_before(keys, n, padded, places);
    for (std::int64_t i = 0; i < n; ++i) from[places[i]] = i;
    row_.store(1, x, [&](std::int64_t j) { return from[j]; });
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
    row_.store(1, x, [&](std::int64_t j) { return heap[static_cast<std::size_t>(j)].index; });
  }

  void values(const Raw* x) {
    Raw* const list = memory_.need<Raw>(2 * p_.length);
    in_parts(p_.length, cores_, [&](std::int64_t begin, std::int64_t end, std::int64_t) {
      std::copy(x + begin, x + end, list + begin);
    });
    const Raw* const sorted = radix_sort(list, list + p_.length, p_.length, p_.rule.bits, cores_, key_);
    row_.store_values(cores_, [&](std::int64_t j) { return sorted[j]; });
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
    std::uint64_t* const list = pairs_of([&](std::int64_t j) { return key_(x[j]); });
    const std::uint64_t* const sorted = sort_pairs(list, list + p_.length, p_.length, p_.rule.bits, cores_);
    row_.store(cores_, x, [&](std::int64_t j) { return index_of(sorted[j]); });
  }

  // Keys of 64 bits: by their high words, then runs of equal ones by their low words.
  void wide_pairs(const Raw* x) {
    const std::int64_t n = p_.length;
    std::uint64_t* const list = pairs_of([&](std::int64_t j) { return key_(x[j]) >> 32; });
    std::uint64_t* const sorted = sort_pairs(list, list + n, n, 32, cores_);
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
          sort_pairs(sorted + begin, other + begin, end - begin, 32, end - begin < n ? 1 : cores_);
      if (run != sorted + begin) std::copy(run, run + (end - begin), sorted + begin);
    }
    row_.store(cores_, x, [&](std::int64_t j) { return index_of(sorted[j]); });
  }

  void long_pairs(const Raw* x) {
    auto* const list = memory_.need<LongPair>(2 * p_.length);
    for (std::int64_t j = 0; j < p_.length; ++j) list[j] = {key_(x[j]), j};
    const LongPair* const sorted = radix_sort(list, list + p_.length, p_.length, p_.rule.bits, cores_,
                                              [](const LongPair& pair) { return pair.key; });
    row_.store(cores_, x, [&](std::int64_t j) { return sorted[j].index; });
  }

  const SortProblem& p_;
  const Key& key_;
  std::int64_t cores_;
  RowAccess<Raw> row_;
  Memory memory_;
};

}  // namespace

void sort_cpu(cpu::Executor& executor, const SortProblem& p) {
  // One long row is sorted by all cores, many rows by one core each. Types of less than a byte share bytes between rows.
  const bool packed = bits(p.x.dtype) < 8, long_row = p.rows < executor.threads() && p.length > 2 * kPiece;
  const std::int64_t cores = long_row ? std::min<std::int64_t>(executor.threads(), p.length / kPiece) : 1;
  with_bits(std::max(bits(p.x.dtype), 8), [&]<class Raw>() {
    with_key(p.rule, [&](const auto& key) {
      const auto rows = [&](std::int64_t begin, std::int64_t end) {
        RowSorter<Raw, std::remove_cvref_t<decltype(key)>> sorter(p, key, cores);
        for (std::int64_t row = begin; row < end; ++row) sorter.sort(row);
      };
      if (long_row || packed) rows(0, p.rows);
      else parallel(executor, p.rows, std::max<std::int64_t>(4096 / p.length, 1), rows);
    });
  });
}

}  // namespace weft::kernels
