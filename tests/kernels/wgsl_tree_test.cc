// Trees of WGSL: every text of the table of scalar operations is read and printed as it is, and rewriting them.
#include "kernels/elementwise/wgsl_tree.h"

#include <gtest/gtest.h>

#include "kernels/elementwise/scalar_ops.h"
#include "weft/error.h"

namespace weft::test {
namespace {

using kernels::WgslTree;

std::string printed(const WgslTree& tree, WgslTree::Id node) {
  std::string text;
  tree.print(text, node);
  return text;
}

// The text with what the placeholders stand for.
std::string filled(std::string_view text) {
  std::string s;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$')
      s += text[i];
    else if (text[++i] == 'w')
      s += "8";
    else
      s += std::string("v") + text[i];
  }
  return s;
}

TEST(WgslTree, PrintsWhatItHasRead) {
  std::vector<std::string_view> texts{"vec2<u32>(bitcast<u32>($0), bitcast<u32>($0 >> 31u))",
                                      "bitcast<vec2<f32>>(bitcast<vec2<u32>>($0) ^ vec2<u32>(p.opaque_zero))",
                                      "($0 + $1 * $2 - 1.0 / -$0 & ~$1 | !f($2).xy.z)"};
  for (int i = 0; i < kScalarOpCount; ++i) {
    const kernels::ScalarOpInfo& row = kernels::info(static_cast<ScalarOp>(i));
    for (const std::string_view t : {row.f32, row.i32, row.u32, row.i64, row.u64, row.c64, row.narrow}) {
      if (!t.empty()) texts.push_back(t);
    }
    texts.push_back(row.facts.bool_text.empty() ? "$0" : row.facts.bool_text);
    if (const kernels::NarrowTexts* n = row.facts.narrow_texts) {
      texts.insert(texts.end(), {n->f16, n->bf16, n->f8e4m3, n->f8e5m2});
    }
  }
  for (const std::string_view text : texts) {
    WgslTree t;
    const std::array operands{t.value(0), t.value(1), t.value(2)};
    EXPECT_EQ(printed(t, t.parse(text, operands, 8)), filled(text));
  }
}

TEST(WgslTree, OperatorsBindAsInWgsl) {
  WgslTree t;
  const std::array operands{t.value(0), t.value(1), t.value(2)};
  const auto top = [&](std::string_view text) { return t[t.parse(text, operands)].text; };
  EXPECT_EQ(top("$0 + $1 * $2"), "+");
  EXPECT_EQ(top("$0 * $1 + $2"), "+");
  EXPECT_EQ(top("$0 << 1u != $1 & 2u"), "&");
  EXPECT_EQ(top("$0 - $1 - $2"), "-");
  const WgslTree::Id left = t[t.parse("$0 - $1 - $2", operands)].args[0];
  EXPECT_EQ(printed(t, left), "v0 - v1");
}

TEST(WgslTree, CallsAreRenamedAndExtended) {
  WgslTree t;
  const WgslTree::Id root = t.parse("u32(-exp_narrow(-$0) < far(exp_narrow($0)))", {t.value(3)});
  t.rename(t.call_of(root, "exp", "_narrow"), "exp", "_wide");
  t.add_argument(t.call_of(root, "exp", "_wide"), t.name("far"));
  EXPECT_EQ(printed(t, root), "u32(-exp_wide(-v3, far) < far(exp_narrow(v3)))");
  EXPECT_THROW(t.call_of(root, "exp", "_fast"), InternalError);
}

TEST(WgslTree, NumbersAreWritten) {
  WgslTree t;
  EXPECT_EQ(printed(t, t.integer(-128)), "-128");
  EXPECT_EQ(printed(t, t.u32(0xffffffffu)), "4294967295u");
  EXPECT_EQ(printed(t, t.hex(0x7f800000u)), "0x7f800000u");
  EXPECT_EQ(printed(t, t.f32(0.1f)), "0.1f");
  EXPECT_EQ(printed(t, t.f32(1e10f)), "1e+10f");
}

TEST(WgslTree, OtherTextsAreRefused) {
  for (const std::string_view text : {"", "(", "$0 +", "f($0", "f()", "$3", "$0 $1", "vec2<u32", "$0.", "a, b", ")"}) {
    WgslTree t;
    EXPECT_THROW(t.parse(text, {t.value(0), t.value(1), t.value(2)}), InternalError) << text;
  }
}

}  // namespace
}  // namespace weft::test
