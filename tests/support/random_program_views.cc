// Leaves, views, indexing and updates of random programs.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <variant>

#include "support/random_program_steps.h"
#include "weft/evaluate.h"
#include "weft/random.h"
#include "weft/small_float.h"

namespace weft::test {
namespace {

// An index before it is a tensor on some device.
using Place = std::variant<Index, std::vector<int>>;

Indices indices_of(const std::vector<Place>& places) {
  std::vector<Index> indices;
  for (const Place& p : places) {
    const auto* numbers = std::get_if<std::vector<int>>(&p);
    indices.push_back(numbers ? Index(integers_of(*numbers)) : std::get<Index>(p));
  }
  return indices;
}

struct RandomIndices {
  std::vector<Place> places;
  std::string text;

  void add(Place place, std::string_view as) {
    places.push_back(std::move(place));
    text += std::format("{}{}", text.empty() ? "" : ", ", as);
  }
};

// `distinct`: they name no element twice.
RandomIndices random_indices(ProgramState& s, const Shape& shape, bool tensors, bool distinct) {
  RandomIndices all;
  const auto count = static_cast<std::size_t>(1 + s.up_to(2));  // of the elements that index tensors choose
  bool skipped = false;
  for (int axis = 0; axis < shape.rank() && !s.chance(6);) {
    const auto n = static_cast<int>(shape[axis]);
    const int kind = s.up_to(tensors ? 6 : 4);
    if (kind == 1 && all.places.size() < 4) {
      all.add(Index(newaxis), "newaxis");
      continue;
    }
    if (kind == 2 && !skipped) {
      skipped = true;
      all.add(Index(ellipsis), "ellipsis");
      axis += s.up_to(shape.rank() - axis);
      for (; axis < shape.rank(); ++axis) all.add(Index(weft::all), "all");
      continue;
    }
    if (kind == 0 && n > 0) {
      const int i = s.up_to(n - 1) - (s.chance(2) ? n : 0);
      all.add(Index(i), std::to_string(i));
    } else if (kind >= 5 && n > 0 && (!distinct || static_cast<int>(count) <= n)) {
      std::vector<int> order(static_cast<std::size_t>(n));
      std::iota(order.begin(), order.end(), 0);
      std::vector<int> places(count);
      for (std::size_t i = 0; i < count; ++i) {
        const auto from = distinct ? i : 0;
        std::swap(order[from], order[from + static_cast<std::size_t>(s.up_to(n - 1 - static_cast<int>(from)))]);
        places[i] = order[from] - (s.chance(3) ? n : 0);
      }
      all.add(places, list(places));
    } else {
      const auto end = [&]() -> std::optional<std::int64_t> {
        return s.chance(2) ? none : std::optional<std::int64_t>(s.up_to(2 * n + 2) - n - 1);
      };
      const auto begin = end(), last = end();
      const int by = s.pick<int>({1, 1, 1, -1, 2, -2});
      const auto shown = [](const std::optional<std::int64_t>& e) { return e ? std::to_string(*e) : std::string(); };
      all.add(Index(slice(begin, last, by)), std::format("{}:{}:{}", shown(begin), shown(last), by));
    }
    ++axis;
  }
  if (all.places.empty()) all.add(Index(ellipsis), "ellipsis");
  return all;
}

Shape random_shape(ProgramState& s) {
  Shape shape;
  for (int i = s.up_to(3); i > 0; --i) shape.push_back(s.chance(40) ? 0 : s.pick<std::int64_t>({1, 2, 3, 4, 5}));
  return shape;
}

}  // namespace

// ---- Leaves

Maybe random_leaf(ProgramState& s) {
  const Shape shape = random_shape(s);
  const std::string of = weft::to_string(shape);
  const auto made = [&](std::string_view name, auto f) {
    return Maybe(step(std::format("{} {}", name, of), {}, [f](Tensors&) { return Tensors{f()}; }));
  };
  const auto seed = static_cast<std::uint64_t>(s.up_to(1 << 30));
  switch (s.up_to(11)) {
    case 0:
      return made(std::format("uniform key {}", seed),
                  [=] { return random::uniform(shape, -2, 2, DType::f32, random::key(seed)); });
    case 1:
      return made(std::format("integers key {}", seed),
                  [=] { return random::integers(shape, -9, 10, DType::i32, random::key(seed)); });
    case 2:
      return made(std::format("bernoulli key {}", seed),
                  [=] { return random::bernoulli(shape, 0.5, random::key(seed)); });
    case 3:
      if (seed % 3 == 0) {
        return made(std::format("poisson key {}", seed),
                    [=] { return random::poisson(shape, 4, DType::i32, random::key(seed)); });
      }
      return made(std::format("permutation key {}", seed), [=] {
        return random::permutation(1 + static_cast<std::int64_t>(seed % 9), random::split(random::key(seed), 3)[1]);
      });
    case 4:
      return made("arange", [] { return arange(0, 6); });
    case 5:
      return made("full", [=] { return full(shape, 1.5, DType::f16); });
    case 6:
      return made("eye", [] { return eye(3, 4); });
    case 7:
      return made("linspace", [] { return linspace(-1, 1, 5); });
    default:
      break;
  }
  const DType type = s.pick(kProgramTypes);
  // Quarters are floats of every type, and their sums and products are for a while.
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  const bool whole = !is_floating(type);
  const int least = is_signed(type) ? -8 : 0;
  for (float& v : values) v = static_cast<float>(least + s.up_to(8 - least)) / (whole ? 1 : 4);
  return made("data " + std::string(name(type)), [=] {
    Tensor x = tensor(shape, values).cast(type);
    eval(x);
    return x;
  });
}

// ---- Views

Maybe random_view(ProgramState& s) {
  const int x = s.value([](const ProgramValue&) { return true; });
  const ProgramValue& v = s[x];
  const int r = rank(v);
  const auto view = [&](std::string_view name, auto f, std::string_view arguments = {}) {
    return Maybe(unary_step(name, x, f, v.error, true, arguments));
  };
  switch (s.up_to(9)) {
    case 0:
      return view("flatten", [](const Tensor& t) { return flatten(t); });
    case 1: {
      if (r < 2) return {};
      Shape shape = v.type.shape;
      std::swap(shape[0], shape[1]);
      return view("reshape", [=](const Tensor& t) { return t.reshape(shape); }, weft::to_string(shape));
    }
    case 2: {
      std::vector<int> order(static_cast<std::size_t>(r));
      std::iota(order.begin(), order.end(), 0);
      for (int i = r - 1; i > 0; --i)
        std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(s.up_to(i))]);
      return view("permute", [=](const Tensor& t) { return permute(t, order); }, list(order));
    }
    case 3: {
      const std::vector<int> axes = some_axes(s, r);
      return view("flip", [=](const Tensor& t) { return flip(t, axes); }, list(axes));
    }
    case 4: {
      Shape shape = v.type.shape;
      if (r > 3) return {};
      shape.insert(0, 2);
      return view("broadcast_to", [=](const Tensor& t) { return broadcast_to(t, shape); }, weft::to_string(shape));
    }
    case 5: {
      if (r < 2) return {};
      const int offset = s.up_to(4) - 2;
      return view("diagonal", [=](const Tensor& t) { return diagonal(t, offset); }, std::to_string(offset));
    }
    case 6: {
      const int axis = any_axis(s, r + 1);
      return view("expand_dims", [=](const Tensor& t) { return expand_dims(t, axis); }, std::to_string(axis));
    }
    case 7: {
      if (r < 2) return {};
      const int from = any_axis(s, r), to = any_axis(s, r);
      return view(
          "moveaxis", [=](const Tensor& t) { return moveaxis(t, {from}, {to}); }, std::format("{} to {}", from, to));
    }
    case 8:
      return view("tile", [](const Tensor& t) { return tile(t, {2, 1}); });
    default: {
      if (r < 2) return {};
      const int diagonal = s.up_to(2) - 1;
      return view("tril", [=](const Tensor& t) { return tril(t, diagonal); }, std::to_string(diagonal));
    }
  }
}

// ---- Indices

Maybe random_index(ProgramState& s) {
  const int x = s.value([](const ProgramValue& v) { return rank(v) > 0; });
  if (x < 0) return {};
  const RandomIndices at = random_indices(s, s[x].type.shape, true, false);
  return unary_step(
      "index", x, [places = at.places](const Tensor& t) { return t[indices_of(places)]; }, s[x].error, true,
      "[" + at.text + "]");
}

Maybe random_update(ProgramState& s) {
  const int x = s.value([](const ProgramValue& v) { return rank(v) > 0; });
  if (x < 0) return {};
  const ProgramValue& v = s[x];
  const int op = s.up_to(is_number(v) ? 3 : 0);
  const RandomIndices at = random_indices(s, v.type.shape, true, op == 0);
  const auto put = [op](Tensor t, const Indices& place, const TensorLike& value) {
    switch (op) {
      case 0:
        t.set(place, value);
        break;
      case 1:
        t.add_at(place, value);
        break;
      case 2:
        t.max_at(place, value);
        break;
      default:
        t.min_at(place, value);
    }
    return Tensors{t};
  };
  const std::string name(std::vector<std::string>{"set", "add", "max", "min"}[static_cast<std::size_t>(op)]);
  if (s.chance(2)) {
    const int n = v.type.dtype == DType::boolean ? 1 : s.pick<int>({0, 1, 5});
    const double most = 1 + 3.0 * n;
    return step(
        name, {x}, [put, n, places = at.places](Tensors& o) { return put(std::move(o[0]), indices_of(places), n); },
        v.error, fits_exactly(v.grid, v.top + most, v.type.dtype), std::format("[{}], {}", at.text, n));
  }
  // Of one type, so that nothing is converted; its last elements, so that it broadcasts more often.
  const int y = s.value([&](const ProgramValue& w) { return w.type.dtype == v.type.dtype && size(w) > 0; });
  if (y < 0) return {};
  const int keep = s.up_to(rank(s[y]));
  const auto part = [keep](Tensor t) {
    while (t.rank() > keep) t = t[-1];
    return t;
  };
  const double times = op == 1 ? 9 : 1;  // as often may three index tensors of two axes name an element
  const bool exact = op != 1 || fits_exactly(std::max(v.grid, s[y].grid), v.top + times * s[y].top, v.type.dtype);
  return step(
      name, {x, y},
      [put, part, places = at.places](Tensors& o) {
        const Tensor value = part(o[1]);
        o[1] = Tensor();
        return put(std::move(o[0]), indices_of(places), value);
      },
      v.error + times * (s[y].error + (op == 1 && is_float(v)
                                           ? std::ldexp(1 + v.top + times * s[y].top, -significand_bits(v.type.dtype))
                                           : 0)),
      exact, std::format("[{}], the last of {} axes", at.text, keep));
}

Maybe random_selection(ProgramState& s) {
  const int x = s.value([](const ProgramValue& v) { return v.exact && rank(v) > 0; });
  if (x < 0) return {};
  const ProgramValue& v = s[x];
  switch (s.up_to(6)) {
    case 0:
      return step("nonzero", {x}, [](Tensors& o) { return nonzero(o[0]); });
    case 1:
      return step("unique", {x}, [](Tensors& o) {
        const Unique u = unique(o[0]);
        return Tensors{u.values, u.indices, u.inverse, u.counts};
      });
    case 2:
      return unary_step("mask", x, [](const Tensor& t) { return t[t > 0]; });
    case 3:
      return unary_step("set under a mask", x, [](Tensor t) { return t.set(t == 0, 1); });
    case 4: {
      const int chosen = s.value([&](const ProgramValue& m) { return m.type.dtype == DType::boolean && rank(m) == 1; });
      if (chosen < 0) return {};
      return step("compress", {chosen, x}, [](Tensors& o) { return Tensors{compress(o[0], o[1], 0)}; });
    }
    case 5: {
      if (rank(v) != 1) return {};
      const int values = s.value([&](const ProgramValue& w) { return w.exact && !mixes(v, w); });
      return step("searchsorted", {x, values},
                  [](Tensors& o) { return Tensors{searchsorted(weft::sort(o[0]), o[1])}; });
    }
    default: {
      if (is_float(v) || v.top > 4 || std::ranges::any_of(v.elements, [](double e) { return e < 0; })) return {};
      return unary_step("repeat by itself", x, [](const Tensor& t) {
        const Tensor counts = flatten(t).cast(DType::i32);
        return repeat(counts, counts, 0);
      });
    }
  }
}

}  // namespace weft::test
