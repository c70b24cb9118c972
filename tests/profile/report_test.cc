// What the page and the table of a profile say: the run that is shown, memory, families, limits, forms on the cpu.
#include "kernels/family.h"
#include "weft/profile_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "compiler/bound.h"
#include "cpu/kernel_form.h"
#include "weft/array.h"
#include "weft/compile.h"
#include "weft/creation.h"
#include "weft/evaluate.h"

namespace weft::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

KernelRun call(const char* step, const char* kernel, double start, double seconds) {
  return {.step = step, .kernel = kernel, .work = {.bytes = 1000, .flops = 1000}, .start = start, .seconds = seconds};
}

// Runs of 5, 1 and 2 ms, each with two dispatches and a span of the host around them.
Profile three_runs() {
  Profile p{.device = "a device"};
  double at = 0;
  for (const double ms : {5.0, 1.0, 2.0}) {
    const double length = ms * 1e-3;
    p.runs.push_back(call("matmul [2, 2]", "matmul", at + 1e-5, length / 2));
    p.runs.push_back(call("exp [2, 2]", "map", at + length / 2 + 1e-5, length / 4));
    p.host.push_back({"run", at, length});
    at += length + 1e-3;
  }
  p.seconds = at;
  return p;
}

json page_data(const ProfileReport& report) {
  const std::string page = profile_page(report);
  const std::size_t begin = page.find("const P = ") + 10;
  return json::parse(page.substr(begin, page.find(";\n", begin) - begin));
}

TEST(ProfilePage, OpensOnTheRunOfTheMedianLength) {
  const json data = page_data(make_report(three_runs(), {}, "three", 3));
  ASSERT_EQ(data["windows"].size(), 3u);
  EXPECT_EQ(data["shown_run"], 2) << "that of 2 ms";
  EXPECT_NEAR(data["windows"][2][0], 8000, 1e-6) << "µs";
  EXPECT_NEAR(data["windows"][2][1], 10000, 1e-6);
  EXPECT_NEAR(data["windows"][1][1], 7000, 1e-6);
}

TEST(ProfilePage, ShowsAllOfAProfileWhoseRunsAreNotKnown) {
  Profile uneven = three_runs();
  uneven.runs.pop_back();
  for (const json& data :
       {page_data(make_report(uneven, {}, "uneven", 3)), page_data(make_report(three_runs(), {}, "one", 1))}) {
    ASSERT_EQ(data["windows"].size(), 1u);
    EXPECT_EQ(data["shown_run"], 0);
    EXPECT_EQ(data["windows"][0][0], 0);
    EXPECT_GE(data["windows"][0][1], 10000);
  }
  const json empty = page_data(make_report(Profile{.seconds = 1}, {}, "nothing ran", 1));
  ASSERT_EQ(empty["windows"].size(), 1u);
  EXPECT_EQ(empty["windows"][0], json({0, 1e6}));
}

TEST(ProfilePage, OfMoreDispatchesThanItDrawsHasTheRunsThatItDraws) {
  Profile p;
  for (int i = 0; i < 30000; ++i) p.runs.push_back(call("exp [2]", "map", i * 1e-3, 1e-4));
  p.seconds = 30;
  EXPECT_EQ(page_data(make_report(p, {}, "long", 3))["windows"].size(), 2u);
  const json one = page_data(make_report(p, {}, "longer", 1));
  ASSERT_EQ(one["windows"].size(), 1u);
  EXPECT_LT(one["windows"][0][1], 20.1e6) << "ends with the last that is drawn";
}

TEST(ProfilePage, AFamilyHasOnePlaceWhateverElseThereIs) {
  const json mixed = page_data(make_report(three_runs(), {}, "mixed", 3));
  const Profile only{.seconds = 1e-3, .runs = {call("exp [2]", "elementwise", 0, 1e-3)}};
  const json alone = page_data(make_report(only, {}, "alone", 1));
  EXPECT_EQ(mixed["families"], alone["families"]);
  EXPECT_EQ(mixed["rows"][1]["family"], "elementwise") << "on the cpu it is the op map";
  EXPECT_EQ(alone["rows"][0]["family"], "elementwise");
  EXPECT_THAT(profile_page(make_report(three_runs(), {}, "mixed", 3)),
              AllOf(HasSubstr("--f0: " + kernels::family_colour(kernels::kernel_families()[0], false)),
                    HasSubstr("--f0: " + kernels::family_colour(kernels::kernel_families()[0], true)),
                    Not(HasSubstr("/*FAMILIES"))));
}

TEST(ProfilePage, HasTheWeights) {
  ProfileReport report = make_report(three_runs(), {}, "weights", 3);
  EXPECT_FALSE(page_data(report).contains("constant_bytes"));
  EXPECT_THAT(profile_table(report, 0), Not(HasSubstr("memory:")));
  report.constant_bytes = 3 << 20;
  EXPECT_EQ(page_data(report)["constant_bytes"], 3 << 20);
  EXPECT_THAT(profile_table(report, 0), HasSubstr("memory: constants 3.00 MiB"));
}

TEST(ProfileReport, BytesThatFitTheCachesAreHeldAgainstTheirBandwidth) {
  Calibration limits;
  limits.copy_bandwidth = 1e6, limits.f32_rate = 1e12;
  const auto limit = [&] { return make_report(three_runs(), limits, "limits", 3).rows[0].of_limit; };
  const double by_memory = limit();
  limits.cache_bandwidth = 4e6, limits.cache_bytes = 999;
  EXPECT_DOUBLE_EQ(limit(), by_memory) << "1000 bytes do not fit";
  limits.cache_bytes = 1000;
  EXPECT_DOUBLE_EQ(limit(), by_memory / 4);
  EXPECT_THAT(profile_table(make_report(three_runs(), limits, "limits", 3), 0), HasSubstr("in the caches"));
}

TEST(ProfileReport, WhatIsPastTheLimitIsExplained) {
  Calibration slow;
  slow.copy_bandwidth = 1e5, slow.f32_rate = 1e12;
  const ProfileReport past = make_report(three_runs(), slow, "past", 3);
  EXPECT_GT(past.rows[0].of_limit, 1.2);
  EXPECT_THAT(profile_table(past, 0), AllOf(HasSubstr("past 100%"), HasSubstr("--calibrate --again")));
  EXPECT_THAT(profile_page(past), AllOf(HasSubstr("Dots above the lines: "), HasSubstr("Past 100%: ")));
}

// Every kind of kernel says on the cpu, too, how it ran and why.
TEST(CpuForms, AreFilledForEveryKernel) {
  const Device before = default_device();
  set_default_device(Device::cpu());
  const Tensor x = reshape(arange(0, 4096, 1, DType::f32), {64, 64}) * 0.001;
  const Tensor ids = arange(0, 8), q = reshape(x, {1, 2, 32, 64});
  eval({x, ids, q});
  using Build = std::function<Tensor()>;
  const std::pair<const char*, Build> builds[] = {
      {"matmul", [&] { return matmul(x, x); }},
      {"a product of few rows", [&] { return matmul(slice(x, 0, 0, 2), x); }},
      {"a product of integers", [&] { return matmul(cast(x, DType::i32), cast(x, DType::i32)); }},
      {"a product in f64", [&] { return matmul(cast(x, DType::f64), cast(x, DType::f64)); }},
      {"attention", [&] { return attention(q, q, q, {}, {}); }},
      {"exp", [&] { return exp(x); }},
      {"short rows", [&] { return exp(x.T()) + 1.0; }},
      {"softmax", [&] { return softmax(x, 1); }},
      {"softmax of columns", [&] { return softmax(x, 0); }},
      {"norm", [&] { return layer_norm(x, {}, {}, 1e-5); }},
      {"sum", [&] { return sum(x, 1); }},
      {"sum of columns", [&] { return sum(x, 0); }},
      {"argmax", [&] { return argmax(x, 1); }},
      {"scan", [&] { return scan(ScanKind::sum, x, 1); }},
      {"sort", [&] { return sort(x); }},
      {"gather", [&] { return gather(x, ids, 0); }},
      {"concat", [&] { return concat(std::vector<Tensor>{x, x}, 0); }},
      {"pad", [&] { return pad(x, std::vector<std::int64_t>{1, 1}, std::vector<std::int64_t>{1, 1}); }},
      {"tile", [&] { return tile(x, std::vector<std::int64_t>{2, 2}); }},
  };
  for (const auto& [name, build] : builds) {
    profile::Scope scope(name);
    eval(build());
    const Profile& profile = scope.finish();
    ASSERT_FALSE(profile.runs.empty()) << name;
    for (const KernelRun& run : profile.runs) {
      EXPECT_NE(run.variant, "") << name << ": " << run.step;
      EXPECT_NE(run.why, "") << name << ": " << run.step;
    }
  }
  const auto form = [&](const Build& build) {
    profile::Scope scope("a form");
    eval(build());
    return scope.finish().runs.back();
  };
  EXPECT_THAT(form(builds[0].second).variant, HasSubstr("panels_"));
  EXPECT_THAT(form(builds[0].second).why, HasSubstr("24 rows"));
  EXPECT_THAT(form(builds[1].second).why, HasSubstr("fewer than 24 rows"));
  EXPECT_THAT(form(builds[9].second).why, HasSubstr("64 rows of 64"));
  set_default_device(before);
}

TEST(CpuForms, TellHowALoopIsShared) {
  cpu::KernelForm form;
  EXPECT_EQ(form.variant(), "serial");
  EXPECT_NE(form.why(), "");
  form.divide(100, 10, 4);
  EXPECT_EQ(form.variant(), "parallel");
  EXPECT_EQ(form.why(), "100 parts on 4 threads");
  form.divide(10, 10, 4);
  EXPECT_EQ(form.variant(), "serial");
  EXPECT_EQ(form.why(), "10 parts on one thread: too few to share");
  form.choose("panels", "b is packed");
  EXPECT_EQ(form.variant(), "panels");
  EXPECT_EQ(form.why(), "b is packed; 10 parts on one thread: too few to share");
}

TEST(CpuForms, CostNothingWhileNobodyListens) {
  cpu::say_form([]() -> std::pair<std::string, std::string> {
    ADD_FAILURE() << "asked for";
    return {};
  });
}

}  // namespace
}  // namespace weft::test
