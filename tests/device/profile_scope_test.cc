// Profiles of a part of a program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "compiler/bound.h"
#include "support/devices.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/evaluate.h"
#include "weft/profile.h"
#include "weft/profile_report.h"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class ProfileScopeTest : public testing::TestWithParam<std::string> {
 protected:
  ProfileScopeTest() { set_default_device(device); }
  ~ProfileScopeTest() override { set_default_device(before_); }
  Device before_ = default_device();
  Device device = device_named(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Devices, ProfileScopeTest, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

TEST_P(ProfileScopeTest, EverythingInsideAndNothingElse) {
  const Tensor x = full({64, 64}, 1) + 0.0;
  const auto work = [&] { EXPECT_EQ(softmax(x * 2.0, 1).sum().item<float>(), 64); };
  work();
  profile::Scope scope("some <work>");
  scope.span("inner", work);
  EXPECT_THAT(refused_by([&] { profile::Scope second("again"); }), HasSubstr("being profiled already"));
  const Profile& profile = scope.finish();
  const std::size_t runs = profile.runs.size();
  EXPECT_GE(runs, 2u);
  ASSERT_EQ(profile.host.size(), 2u);
  EXPECT_EQ(profile.host[0].name, "some <work>");
  EXPECT_EQ(profile.host[1].name, "inner");
  EXPECT_GT(profile.host[1].seconds, 0);
  EXPECT_LE(profile.host[1].start + profile.host[1].seconds, profile.host[0].seconds);
  for (const KernelRun& r : profile.runs) EXPECT_GE(r.seconds, 0);
  work();
  EXPECT_EQ(scope.finish().runs.size(), runs) << "what comes after it does not count";
  EXPECT_THAT(refused_by([&] { scope.span("late", work); }), AllOf(HasSubstr("late"), HasSubstr("some <work>")));
  const ProfileReport report = scope.report();
  EXPECT_EQ(report.title, "some <work>");
  EXPECT_THAT(profile_table(report, 0),
              AllOf(HasSubstr("some <work>"), HasSubstr("softmax"), HasSubstr(device.name())));
  EXPECT_THAT(profile_json(report), HasSubstr("\"dispatches\": " + std::to_string(runs)));
  EXPECT_THAT(profile_page(report), AllOf(HasSubstr("<!doctype html>"), HasSubstr("some \\u003cwork>")));
  EXPECT_THAT(chrome_trace(scope.finish()), AllOf(HasSubstr("traceEvents"), HasSubstr("softmax")));
}

TEST_P(ProfileScopeTest, ATraceIsReadBack) {
  profile::Scope scope("\"quoted\"");
  (void)softmax(full({64, 64}, 1) * 2.0, 1).sum().item<float>();
  const Profile& p = scope.finish();
  const Profile read = read_chrome_trace(chrome_trace(p));
  EXPECT_EQ(read.device, p.device);
  EXPECT_EQ(read.method, p.method);
  EXPECT_EQ(read.seconds, p.seconds);
  ASSERT_EQ(read.host.size(), 1u);
  EXPECT_EQ(read.host[0].name, "\"quoted\"");
  ASSERT_EQ(read.memory.size(), p.memory.size());
  for (std::size_t i = 0; i < p.memory.size(); ++i) EXPECT_EQ(read.memory[i].live, p.memory[i].live);
  ASSERT_EQ(read.runs.size(), p.runs.size());
  for (std::size_t i = 0; i < p.runs.size(); ++i) {
    const KernelRun &a = read.runs[i], &b = p.runs[i];
    EXPECT_EQ(std::tie(a.step, a.kernel, a.variant, a.why, a.workgroups, a.live_bytes),
              std::tie(b.step, b.kernel, b.variant, b.why, b.workgroups, b.live_bytes));
    EXPECT_EQ(std::tie(a.work.bytes, a.work.flops, a.work.functions, a.work.arithmetic),
              std::tie(b.work.bytes, b.work.flops, b.work.functions, b.work.arithmetic));
    EXPECT_NEAR(a.seconds, b.seconds, 1e-12);
    EXPECT_NEAR(a.start, b.start, 1e-9);
  }
}

// Text that chrome_trace() did not write: the message says what is wrong where, in the words of Weft's other readers.
TEST(ChromeTrace, BadTextIsAPlainError) {
  const auto message = [](std::string_view text) {
    const std::string thrown = thrown_by([&] { (void)read_chrome_trace(text); });
    constexpr std::string_view kType = "FormatError: ";
    return thrown.starts_with(kType) ? thrown.substr(kType.size()) : thrown;
  };
  EXPECT_THAT(message("{\"traceEvents\": [}"), StartsWith("trace:1:18: broken JSON"));
  EXPECT_THAT(message(""), StartsWith("trace:1:1: broken JSON"));
  EXPECT_EQ(message("[1e999]"), "trace: broken JSON: a number is too large");
  EXPECT_EQ(message("[]"), "trace: expected an object, got an array");
  EXPECT_EQ(message("{\"traceEvents\": []}"), "trace: \"otherData\" is missing");
  EXPECT_EQ(message("{\"otherData\": {}}"), "trace: \"otherData.device\" is missing");
  const auto with_event = [&](const std::string& event) {
    return message(
        "{\"otherData\": {\"device\": \"d\", \"driver\": \"\", \"timing\": \"\", \"seconds\": 1}, "
        "\"traceEvents\": [" +
        event + "]}");
  };
  EXPECT_EQ(with_event("{\"ph\": 1}"), "trace: at \"traceEvents[0].ph\": expected a string, got 1");
  EXPECT_EQ(with_event("{\"ph\": \"X\", \"cat\": \"host\", \"name\": \"h\", \"ts\": null}"),
            "trace: at \"traceEvents[0].ts\": expected a number, got null");
  EXPECT_EQ(with_event("{\"ph\": \"X\", \"cat\": \"kernel\", \"args\": {\"arithmetic\": \"f31\", \"workgroups\": \"4\","
                       " \"step\": \"\", \"kernel\": \"\", \"variant\": \"\", \"why\": \"\", \"bytes\": -1}}"),
            "trace: at \"traceEvents[0].args.bytes\": expected an integer from 0 to 9223372036854775807, got -1");
}

TEST_P(ProfileScopeTest, DroppedWithoutFinish) {
  {
    profile::Scope scope("dropped");
  }
  profile::Scope scope("next");
  (void)(full({8}, 2) + 1.0).read<float>();
  EXPECT_GE(scope.finish().runs.size(), 1u);
}

}  // namespace
}  // namespace weft::test
