// The table of characters' properties that a page has instead of ICU, against ICU.
#include "text/property_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <format>
#include <fstream>
#include <vector>

#include "text/property_runs.h"
#include "text/unicode.h"

namespace weft::text {
namespace {

constexpr char32_t kCodePoints = 0x110000;

// The combining class counts where a character decomposes, or is moved.
CharClass class_of(char32_t c) {
  const std::uint8_t known = properties(c);
  return {known, known & kDecomposes ? combining_class(c) : std::uint8_t{0}};
}

// The source of the table, as ICU has the properties. Classes are numbered as they come.
std::string table_source() {
  std::vector<std::pair<CharClass, std::size_t>> all_runs;
  for (char32_t c = 0; c < kCodePoints; ++c) {
    if (all_runs.empty() || !(all_runs.back().first == class_of(c))) all_runs.push_back({class_of(c), 0});
    ++all_runs.back().second;
  }
  std::vector<CharClass> classes;
  std::string runs;
  for (const auto& [kind, count] : all_runs) {
    const auto found = std::ranges::find(classes, kind);
    const auto number = static_cast<std::size_t>(found - classes.begin());
    if (found == classes.end()) classes.push_back(kind);
    append_run(runs, number, count);
  }
  EXPECT_LE(classes.size(), detail::kLetters);

  std::string source =
      "// Properties and combining classes of all characters. Written by PropertyTable.IsIcus\n"
      "// (tests/text/property_table_test.cc).\n"
      "#pragma once\n\n"
      "#include \"text/property_runs.h\"\n\n"
      "namespace weft::text {\n\n"
      "// clang-format off\n"
      "inline constexpr CharClass kCharClasses[] = {";
  for (std::size_t i = 0; i < classes.size(); ++i) {
    source += i % 10 ? " " : "\n    ";
    source += std::format("{{{}, {}}},", classes[i].properties, classes[i].combining);
  }
  source += "\n};\n\ninline constexpr std::string_view kPropertyRuns =";
  constexpr std::size_t kLine = 110;
  for (std::size_t i = 0; i < runs.size(); i += kLine) source += "\n    \"" + runs.substr(i, kLine) + '"';
  return source + ";\n// clang-format on\n\n}  // namespace weft::text\n";
}

TEST(PropertyTable, IsIcus) {
  char32_t c = 0;
  std::size_t wrong = 0;
  for_each_run(kPropertyRuns, [&](std::size_t number, std::size_t count) {
    ASSERT_LT(number, std::size(kCharClasses));
    for (; count > 0; --count, ++c) wrong += !(class_of(c) == kCharClasses[number]);
  });
  wrong += kCodePoints - c;
  if (wrong == 0) return;
  const auto path = std::filesystem::temp_directory_path() / "property_table.h";
  std::ofstream(path) << table_source();
  ADD_FAILURE() << wrong << " characters differ; src/text/property_table.h should be " << path;
}

}  // namespace
}  // namespace weft::text
