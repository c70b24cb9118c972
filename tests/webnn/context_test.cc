// Contexts, device tensors, the timeline and WebGPU's buffers: what is right, in which order it happens, and what is
// refused. Source of the rules: the Web Neural Network API, sections MLContext, MLTensor and MLGraphBuilder.
#include <gmock/gmock.h>

#include <cstring>
#include <thread>

#include "compiler/bound.h"
#include "gpu/wait.h"
#include "weft/memory.h"
#include "weft/webnn.h"

namespace weft::webnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// "TypeError: the message".
template <class Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const Exception& e) {
    return std::format("{}: {}", e.name(), e.what());
  } catch (const std::exception& e) {
    return std::string("another exception: ") + e.what();
  }
  return "nothing";
}

template <class T = float>
std::vector<T> read(Context& context, const Tensor& tensor) {
  const gpu::ReadBytes bytes = context.read_tensor(tensor).get();
  std::vector<T> values(bytes.size() / sizeof(T));
  bytes.copy_to(std::as_writable_bytes(std::span(values)));
  return values;
}

constexpr bool kYes = true;
TensorDescriptor floats(Sizes shape) { return {DType::f32, std::move(shape), kYes, kYes}; }

// y = a + b.
Graph adder(const Context& context, const Sizes& shape = {3}) {
  GraphBuilder builder(context);
  const Operand a = builder.input("a", {DType::f32, shape}), b = builder.input("b", {DType::f32, shape});
  return builder.build({{"y", builder.add(a, b)}});
}

class WebnnContext : public testing::TestWithParam<std::string> {
 protected:
  const Device device = test::device_named(GetParam());
  Context context = Context::create(device);
};

// As in a browser, where nothing may wait.
TEST_P(WebnnContext, BuildsAndComputesWithoutWaiting) {
  Future<gpu::ReadBytes> result;
  bool refused = false;
  {
    const gpu::NoWaiting guard;
    GraphBuilder builder(context);
    const Operand a = builder.input("a", {DType::f32, {3}});
    Future<Graph> building = builder.build_async({{"y", builder.add(a, a)}});
    const Tensor x = context.create_tensor(floats({3})), y = context.create_tensor(floats({3}));
    context.write_tensor(x, std::vector<float>{1, 2, 3});
    std::move(building).then([&](Future<Graph> graph) {
      context.dispatch(graph.get(), {{"a", x}}, {{"y", y}});
      result = context.read_tensor(y);
    });
    // Compilation is another thread's; this one asks.
    for (int i = 0; i < 100'000 && !result.valid(); ++i) {
      if (device.is_gpu()) device.gpu().poll();
      std::this_thread::yield();
    }
    refused = error_of([&] { builder.build_async({}); }).starts_with("InvalidStateError");
    EXPECT_THAT(guard.places(), testing::IsEmpty());
  }
  EXPECT_TRUE(refused) << "a builder builds once";
  ASSERT_TRUE(result.valid());
  std::vector<float> values(3);
  result.get().copy_to(std::as_writable_bytes(std::span(values)));
  EXPECT_THAT(values, ElementsAre(2, 4, 6));
}

TEST_P(WebnnContext, ComputesInTheOrderOfCalls) {
  const Graph graph = adder(context);
  EXPECT_EQ(graph.inputs().at("a"), (OperandDescriptor{DType::f32, {3}}));
  EXPECT_EQ(graph.outputs().at("y"), (OperandDescriptor{DType::f32, {3}}));
  const Tensor x = context.create_tensor(floats({3})), y = context.create_tensor(floats({3}));
  const Tensor zero = context.create_tensor(floats({3}));
  context.write_tensor(x, std::vector<float>{1, 2, 3});
  context.dispatch(graph, {{"a", x}, {"b", zero}}, {{"y", y}});
  Future<gpu::ReadBytes> first = context.read_tensor(y);
  context.write_tensor(x, std::vector<float>{10, 20, 30});       // after the dispatch
  context.dispatch(graph, {{"b", x}, {"a", y}}, {{"y", zero}});  // into what is no input
  Future<gpu::ReadBytes> second = context.read_tensor(zero);
  std::vector<float> values(3);
  second.get().copy_to(std::as_writable_bytes(std::span(values)));
  EXPECT_THAT(values, ElementsAre(11, 22, 33));
  first.get().copy_to(std::as_writable_bytes(std::span(values)));
  EXPECT_THAT(values, ElementsAre(1, 2, 3));
  EXPECT_EQ(context.accelerated(), GetParam() != "cpu");
  EXPECT_THAT(read(context, x), ElementsAre(10, 20, 30)) << "inputs are not changed";
}

TEST_P(WebnnContext, TensorsAreZeroAndOfEveryType) {
  {  // Memory that is used again holds something.
    const Tensor dirty = context.create_tensor(floats({64}));
    context.write_tensor(dirty, std::vector<float>(64, 7));
  }
  EXPECT_THAT(read(context, context.create_tensor(floats({64}))), testing::Each(0.0f));
  for (const DType type : {DType::f32, DType::f16, DType::i32, DType::u32, DType::i64, DType::u64, DType::i8, DType::u8,
                           DType::i4, DType::u4}) {
    for (const Sizes& shape : {Sizes{}, Sizes{1}, Sizes{3}, Sizes{5, 7}}) {
      const Tensor t = context.create_tensor({type, shape, kYes, kYes});
      EXPECT_EQ(t.data_type(), type);
      EXPECT_EQ(t.shape(), shape);
      const std::vector<std::byte> zero(t.byte_length());
      EXPECT_EQ(context.read_tensor(t).get(), std::span<const std::byte>(zero)) << data_type_name(type);
      std::vector<std::byte> bytes(t.byte_length());
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + 1);
      context.write_tensor(t, std::span<const std::byte>(bytes));
      EXPECT_EQ(context.read_tensor(t).get(), std::span<const std::byte>(bytes)) << data_type_name(type);
    }
  }
}

TEST_P(WebnnContext, ReadsIntoTheCallersMemory) {
  const Tensor t = context.create_tensor(floats({2}));
  context.write_tensor(t, std::vector<float>{5, 6});
  std::vector<float> target(3, -1);  // a larger one keeps its end
  context.read_tensor(t, std::as_writable_bytes(std::span(target))).get();
  EXPECT_THAT(target, ElementsAre(5, 6, -1));
  EXPECT_THAT(error_of([&] { context.read_tensor(t, std::as_writable_bytes(std::span(target).first(1))); }),
              StartsWith("TypeError: read tensor: the memory is 4 bytes, expected at least 8"));
}

TEST_P(WebnnContext, RefusesDescriptors) {
  const std::pair<TensorDescriptor, const char*> cases[] = {
      {{DType::f32, {2, 0}}, "the shape is [2, 0], expected sizes from 1 to 2147483647"},
      {{DType::f32, {-1}}, "the shape is [-1], expected sizes"},
      {{DType::u8, {2147483648}}, "expected sizes from 1 to 2147483647"},
      {{DType::i32, {4294967295, 4294967295, 4294967295}}, "expected sizes"},
      {{DType::u8, {65536, 32768}}, "expected at most 2147483647 elements"},
      {{DType::f32, Sizes(9, 1)}, "expected a rank of at most 8"},
      {{DType::f64, {2}}, "the data type is f64, expected float32, float16"},
      {{DType::boolean, {2}}, "the data type is bool"},
  };
  for (const auto& [descriptor, message] : cases) {
    EXPECT_THAT(error_of([&] { context.create_tensor(descriptor); }),
                testing::AllOf(StartsWith("TypeError: create tensor: "), HasSubstr(message)));
    GraphBuilder builder(context);
    EXPECT_THAT(error_of([&] { builder.input("x", {descriptor.data_type, descriptor.shape}); }),
                testing::AllOf(StartsWith("TypeError: input 'x': "), HasSubstr(message)));
  }
  // One byte more than the limit; a multiple of the type's size never is exactly the limit.
  const std::uint64_t most = context.op_support_limits().max_tensor_byte_length;
  const auto count = static_cast<std::int64_t>((most + 1) / 8);
  if (count <= 2147483647) {
    EXPECT_THAT(error_of([&] { context.create_tensor({DType::i64, {count}}); }),
                HasSubstr("expected at most max_tensor_byte_length"));
  }
}

TEST_P(WebnnContext, RefusesTensors) {
  Context other = Context::create(device);
  const Graph graph = adder(context);
  const Tensor a = context.create_tensor(floats({3})), b = context.create_tensor(floats({3}));
  const Tensor y = context.create_tensor(floats({3})), foreign = other.create_tensor(floats({3}));
  const Tensor closed = context.create_tensor({DType::f32, {3}});
  const std::vector<float> data{1, 2, 3};
  const Tensor constant = context.create_constant_tensor({DType::f32, {3}}, data);
  EXPECT_TRUE(constant.constant());

  EXPECT_THAT(error_of([&] { context.write_tensor(foreign, data); }),
              StartsWith("TypeError: write tensor: the tensor is of another context"));
  EXPECT_THAT(error_of([&] { context.read_tensor(foreign); }),
              StartsWith("TypeError: read tensor: the tensor is of another context"));
  EXPECT_THAT(error_of([&] { context.write_tensor(closed, data); }),
              StartsWith("TypeError: write tensor: the tensor is not writable"));
  EXPECT_THAT(error_of([&] { context.read_tensor(closed); }),
              StartsWith("TypeError: read tensor: the tensor is not readable"));
  EXPECT_THAT(error_of([&] { context.write_tensor(constant, data); }), StartsWith("TypeError"));
  EXPECT_THAT(error_of([&] { context.write_tensor(a, std::vector<float>{1}); }),
              HasSubstr("the data are 4 bytes of float32, expected 12 bytes of float32 or of bytes, for float32 [3]"));
  EXPECT_THAT(error_of([&] { context.write_tensor(a, std::vector<std::int32_t>{1, 2, 3}); }),
              HasSubstr("12 bytes of int32"));
  EXPECT_EQ(error_of([&] { context.write_tensor(a, std::vector<std::uint8_t>(12)); }), "nothing")
      << "bytes are good for all";
  EXPECT_THAT(error_of([&] { context.write_tensor({}, data); }),
              StartsWith("TypeError: write tensor: an empty Tensor"));

  const auto refused = [&](const NamedTensors& in, const NamedTensors& out, const char* message) {
    EXPECT_THAT(error_of([&] { context.dispatch(graph, in, out); }),
                testing::AllOf(StartsWith("TypeError: dispatch: "), HasSubstr(message)));
  };
  refused({{"a", a}}, {{"y", y}}, "input 'b' is not given");
  refused({{"a", a}, {"b", b}, {"c", y}}, {}, "the graph has no input 'c'");
  refused({{"a", a}, {"b", b}}, {}, "output 'y' is not given");
  refused({{"a", a}, {"b", b}}, {{"y", a}}, "input 'a' and output 'y' are one tensor");
  refused({{"a", a}, {"b", a}}, {{"y", y}}, "input 'a' and input 'b' are one tensor");
  refused({{"a", a}, {"b", foreign}}, {{"y", y}}, "'b': the tensor is of another context");
  refused({{"a", a}, {"b", constant}}, {{"y", y}}, "'b' is a constant");
  refused({{"a", a}, {"b", context.create_tensor(floats({1, 3}))}}, {{"y", y}},
          "input 'b' is float32 [1, 3], expected float32 [3]");
  refused({{"a", a}, {"b", context.create_tensor({DType::i32, {3}})}}, {{"y", y}},
          "input 'b' is int32 [3], expected float32 [3]");
  refused({{"a", a}, {"b", {}}}, {{"y", y}}, "'b': an empty Tensor");
  EXPECT_THAT(error_of([&] { other.dispatch(graph, {}, {}); }), HasSubstr("the graph is of another context"));
  EXPECT_THAT(error_of([&] { context.dispatch({}, {}, {}); }), HasSubstr("an empty Graph"));
  context.dispatch(graph, {{"a", a}, {"b", b}}, {{"y", y}});  // still works
}

TEST_P(WebnnContext, DestroysOnce) {
  Graph graph = adder(context);
  Tensor a = context.create_tensor(floats({3})), b = context.create_tensor(floats({3})),
         y = context.create_tensor(floats({3}));
  context.write_tensor(a, std::vector<float>{1, 2, 3});
  context.dispatch(graph, {{"a", a}, {"b", b}}, {{"y", y}});
  a.destroy();
  a.destroy();
  EXPECT_TRUE(a.destroyed());
  EXPECT_THAT(read(context, y), ElementsAre(1, 2, 3)) << "what was dispatched goes on";
  EXPECT_THAT(error_of([&] { context.write_tensor(a, std::vector<float>{1, 2, 3}); }),
              StartsWith("InvalidStateError: write tensor: the tensor is destroyed"));
  EXPECT_THAT(error_of([&] { context.read_tensor(a); }),
              StartsWith("InvalidStateError: read tensor: the tensor is destroyed"));
  EXPECT_THAT(error_of([&] { context.dispatch(graph, {{"a", a}, {"b", b}}, {{"y", y}}); }),
              StartsWith("TypeError: dispatch: the tensor of 'a' is destroyed"));
  Future<gpu::ReadBytes> pending = context.read_tensor(y);
  y.destroy();
  EXPECT_TRUE(pending.ready());
  EXPECT_THAT(error_of([&] { pending.get(); }), StartsWith("InvalidStateError: read tensor: the tensor is destroyed"));
  graph.destroy();
  graph.destroy();
  EXPECT_THAT(error_of([&] { context.dispatch(graph, {{"a", a}, {"b", b}}, {{"y", y}}); }),
              StartsWith("InvalidStateError: dispatch: the graph is destroyed"));
}

TEST_P(WebnnContext, IsLostWhenDestroyed) {
  GraphBuilder builder(context);
  const Operand x = builder.input("x", {DType::f32, {1}});
  const Operand y = builder.add(x, x);
  const Graph graph = adder(context);
  const Tensor t = context.create_tensor(floats({1}));
  int called = 0;
  Future<ContextLostInfo> lost = context.lost();
  EXPECT_FALSE(lost.ready());
  context.lost().then([&](Future<ContextLostInfo> info) {
    ++called;
    EXPECT_THAT(info.get().message, HasSubstr("destroy() was called"));
  });
  Future<gpu::ReadBytes> pending = context.read_tensor(t);
  context.destroy();
  context.destroy();
  EXPECT_EQ(called, 1);
  EXPECT_TRUE(lost.ready());
  EXPECT_THAT(lost.get().message, HasSubstr("destroy() was called"));
  EXPECT_TRUE(t.destroyed());
  EXPECT_TRUE(graph.destroyed());
  const char* const kLost = "InvalidStateError";
  EXPECT_THAT(error_of([&] { pending.get(); }), StartsWith(kLost));
  EXPECT_THAT(error_of([&] { context.create_tensor(floats({1})); }), StartsWith(kLost));
  EXPECT_THAT(error_of([&] { context.create_constant_tensor({DType::f32, {1}}, std::vector<float>{1}); }),
              StartsWith(kLost));
  EXPECT_THAT(error_of([&] { context.write_tensor(t, std::vector<float>{1}); }), StartsWith(kLost));
  EXPECT_THAT(error_of([&] { context.read_tensor(t); }), StartsWith(kLost));
  EXPECT_THAT(error_of([&] { context.dispatch(graph, {}, {}); }), StartsWith(kLost));
  EXPECT_THAT(error_of([&] { GraphBuilder late(context); }), StartsWith(kLost));
  EXPECT_THAT(error_of([&] { builder.add(x, x); }), StartsWith(kLost));
  EXPECT_THAT(error_of([&] { builder.build({{"y", y}}); }), StartsWith(kLost));
  Context next = Context::create(device);
  EXPECT_EQ(read(next, next.create_tensor(floats({1})))[0], 0);
}

// ---- Builders

TEST_P(WebnnContext, BuildsOnce) {
  GraphBuilder builder(context), other(context);
  const Operand x = builder.input("x", {DType::f32, {2}}), unused = builder.input("unused", {DType::f32, {2}});
  const Operand c = builder.constant({DType::f32, {2}}, std::vector<float>{1, 2});
  const Operand y = builder.add(x, c);
  EXPECT_THAT(error_of([&] { builder.build({}); }), StartsWith("TypeError: build: there are no outputs"));
  EXPECT_THAT(error_of([&] { builder.build({{"", y}}); }),
              StartsWith("TypeError: build: the name of an output is empty"));
  EXPECT_THAT(error_of([&] { builder.build({{"y", x}}); }),
              StartsWith("TypeError: build: output 'y' is an input of the graph"));
  EXPECT_THAT(error_of([&] { builder.build({{"y", c}}); }), StartsWith("TypeError: build: output 'y' is a constant"));
  EXPECT_THAT(error_of([&] { builder.build({{"y", y}, {"y", y}}); }),
              StartsWith("TypeError: build: output 'y' is given twice"));
  EXPECT_THAT(error_of([&] { other.build({{"y", y}}); }),
              StartsWith("TypeError: build: output 'y' is of another builder"));
  EXPECT_THAT(error_of([&] { other.add(x, x); }), StartsWith("TypeError: add: a is of another builder"));
  const Graph graph = builder.build({{"y", y}, {"same", y}});
  EXPECT_EQ(graph.inputs().size(), 1u) << "what no output needs is not asked for";
  EXPECT_THAT(error_of([&] { builder.build({{"y", y}}); }),
              StartsWith("InvalidStateError: build: the builder has built"));
  EXPECT_THAT(error_of([&] { builder.add(x, unused); }), StartsWith("InvalidStateError: add: the builder has built"));
  EXPECT_THAT(error_of([&] { builder.input("z", {DType::f32, {1}}); }), StartsWith("InvalidStateError"));
  EXPECT_THAT(error_of([&] { builder.constant(DType::f32, 1); }), StartsWith("InvalidStateError"));
  const Tensor in = context.create_tensor(floats({2})), out = context.create_tensor(floats({2}));
  const Tensor again = context.create_tensor(floats({2}));
  context.write_tensor(in, std::vector<float>{10, 20});
  context.dispatch(graph, {{"x", in}}, {{"y", out}, {"same", again}});
  EXPECT_THAT(read(context, out), ElementsAre(11, 22));
  EXPECT_THAT(read(context, again), ElementsAre(11, 22));
}

TEST_P(WebnnContext, ChecksArguments) {
  GraphBuilder builder(context);
  const Operand x = builder.input("x", {DType::f32, {2}}), i = builder.input("i", {DType::i32, {2}});
  EXPECT_THAT(error_of([&] { builder.input("", {DType::f32, {2}}); }),
              StartsWith("TypeError: input: the name is empty"));
  EXPECT_EQ(error_of([&] { builder.add(x, i, {.label = "sum\u202e\n"}); }),
            "TypeError: add [sum\\u{202e}\\u{a}]: b is int32 [2], expected float32, as a");
  EXPECT_THAT(error_of([&] { builder.add(x, {}); }), HasSubstr("add: b is not given, expected an operand"));
  EXPECT_THAT(error_of([&] { builder.call("ad", {{"a", x}, {"b", x}}); }),
              HasSubstr("there is no operation 'ad'; the nearest name is 'add'"));
  EXPECT_THAT(error_of([&] { builder.call("add", {{"a", x}, {"bb", x}}); }),
              HasSubstr("add: there is no argument 'bb'; the nearest name is 'b'"));
  EXPECT_THAT(error_of([&] { builder.call("add", {{"a", x}, {"a", x}}); }), HasSubstr("a is given twice"));
  EXPECT_THAT(error_of([&] { builder.call("add", {{"a", Number(1)}, {"b", x}}); }),
              HasSubstr("a is 1, expected an operand"));
  EXPECT_EQ(builder.call("add", {{"a", x}, {"b", x}, {"label", "l"}}).size(), 1u);
}

TEST_P(WebnnContext, TwoInputsOfAGraphHaveTwoNames) {
  GraphBuilder builder(context);
  const Operand first = builder.input("x", {DType::f32, {2}}), second = builder.input("x", {DType::f32, {2}});
  const Operand y = builder.add(first, second), z = builder.add(second, second);
  EXPECT_THAT(error_of([&] { builder.build({{"y", y}}); }), StartsWith("TypeError: build: two inputs are named 'x'"));
  EXPECT_EQ(builder.build({{"z", z}}).inputs().size(), 1u);
}

TEST_P(WebnnContext, ConstantTensorsOutliveTheirHandles) {
  GraphBuilder builder(context);
  Tensor c = context.create_constant_tensor({DType::f32, {2}}, std::vector<float>{3, 4});
  const Tensor variable = context.create_tensor(floats({2}));
  EXPECT_THAT(error_of([&] { builder.constant(variable); }),
              StartsWith("TypeError: constant: the tensor was not made by create_constant_tensor()"));
  const Operand x = builder.input("x", {DType::f32, {2}});
  const Graph graph = builder.build({{"y", builder.add(x, builder.constant(c))}});
  c.destroy();
  GraphBuilder next(context);
  EXPECT_THAT(error_of([&] { next.constant(c); }), StartsWith("TypeError: constant: the tensor is destroyed"));
  const Tensor out = context.create_tensor(floats({2}));
  context.dispatch(graph, {{"x", variable}}, {{"y", out}});
  EXPECT_THAT(read(context, out), ElementsAre(3, 4));
}

TEST_P(WebnnContext, ScalarsAreCastAsTheSpecificationSays) {
  struct Case {
    DType type;
    Number value;
    double expected;
  };
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const Case cases[] = {
      {DType::i32, 2.5, 2},      {DType::i32, 3.5, 4},
      {DType::i32, -2.5, -2},    {DType::i32, 1e20, 2147483647},
      {DType::i32, nan, 0},      {DType::i32, -inf, -2147483648.0},
      {DType::u8, -5, 0},        {DType::u8, 300, 255},
      {DType::i8, -129.4, -128}, {DType::u32, inf, 4294967295.0},
      {DType::f16, 1e6, inf},    {DType::f32, 0.1, 0.1f},
      {DType::f16, -inf, -inf},  {DType::u8, 0.5, 0},
      {DType::u8, 1.5, 2},
  };
  for (const Case& c : cases) {
    GraphBuilder builder(context);
    const Operand zero = builder.constant(c.type, 0);
    const Graph graph = builder.build({{"y", builder.add(builder.constant(c.type, c.value), zero)}});
    const Tensor y = context.create_tensor({c.type, {}, kYes, false});
    context.dispatch(graph, {}, {{"y", y}});
    const gpu::ReadBytes bytes = context.read_tensor(y).get();
    const std::uint64_t wanted = Number(c.expected).bits(c.type);
    std::uint64_t got = 0;
    std::memcpy(&got, bytes.span().data(), bytes.size());
    EXPECT_EQ(got, wanted) << data_type_name(c.type) << " of " << to_string(c.value);
  }
  // 64-bit integers pass through no double.
  GraphBuilder builder(context);
  const Operand big = builder.constant(DType::i64, std::int64_t{9007199254740993});
  const Graph graph = builder.build({{"y", builder.add(big, builder.constant(DType::i64, 0))}});
  const Tensor y = context.create_tensor({DType::i64, {}, kYes, false});
  context.dispatch(graph, {}, {{"y", y}});
  EXPECT_THAT(read<std::int64_t>(context, y), ElementsAre(9007199254740993));
}

// ---- Many at once

TEST_P(WebnnContext, AThousandDispatchesInFlight) {
  const Graph graph = adder(context, {16});
  const Tensor one = context.create_tensor(floats({16}));
  Tensor a = context.create_tensor(floats({16})), b = context.create_tensor(floats({16}));
  context.write_tensor(one, std::vector<float>(16, 1));
  for (int i = 0; i < 10; ++i) {
    context.dispatch(graph, {{"a", a}, {"b", one}}, {{"y", b}});
    std::swap(a, b);
  }
  const std::uint64_t before = memory::live(device);
  for (int i = 0; i < 1000; ++i) {
    context.dispatch(graph, {{"a", a}, {"b", one}}, {{"y", b}});
    std::swap(a, b);
  }
  EXPECT_EQ(memory::live(device), before) << "a dispatch holds no memory";
  EXPECT_THAT(read(context, a), testing::Each(1010.0f));
}

TEST_P(WebnnContext, TwoThreadsOnAContextAndTwoContextsOnADevice) {
  Context second = Context::create(device);
  const Graph graph = adder(context, {64});
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> results(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Context own = t < 2 ? context : second;
      const Graph g = t < 2 ? graph : adder(own, {64});
      const Tensor step = own.create_tensor(floats({64}));
      Tensor a = own.create_tensor(floats({64})), b = own.create_tensor(floats({64}));
      own.write_tensor(step, std::vector<float>(64, static_cast<float>(t + 1)));
      for (int i = 0; i < 100; ++i) {
        own.dispatch(g, {{"a", a}, {"b", step}}, {{"y", b}});
        std::swap(a, b);
        if (i % 25 == 0) read(own, a);
      }
      results[static_cast<std::size_t>(t)] = read(own, a);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < 4; ++t) {
    EXPECT_THAT(results[static_cast<std::size_t>(t)], testing::Each(100.0f * static_cast<float>(t + 1)));
  }
}

TEST_P(WebnnContext, DestroyingFreesMemory) {
  const std::uint64_t before = memory::live(device);
  for (int i = 0; i < 20; ++i) {
    Tensor t = context.create_tensor(floats({1 << 16}));
    context.write_tensor(t, std::vector<float>(1 << 16, 1));
    if (i % 2 == 0) t.destroy();
    EXPECT_LE(memory::live(device), before + 2 * (sizeof(float) << 16));
  }
  EXPECT_EQ(memory::live(device), before);
}

// ---- WebGPU

// Doubles each word of a buffer by a shader of the caller's.
void twice(const gpu::Device& device, const wgpu::Buffer& buffer) {
  wgpu::ShaderSourceWGSL source;
  source.code =
      "@group(0) @binding(0) var<storage, read_write> x: array<f32>;\n"
      "@compute @workgroup_size(1) fn main(@builtin(workgroup_id) id: vec3u) { x[id.x] = 2 * x[id.x]; }";
  wgpu::ShaderModuleDescriptor module;
  module.nextInChain = &source;
  wgpu::ComputePipelineDescriptor pipeline;
  pipeline.compute.module = device.webgpu().CreateShaderModule(&module);
  const wgpu::ComputePipeline made = device.webgpu().CreateComputePipeline(&pipeline);
  wgpu::BindGroupEntry entry;
  entry.binding = 0;
  entry.buffer = buffer;
  wgpu::BindGroupDescriptor group;
  group.layout = made.GetBindGroupLayout(0);
  group.entryCount = 1;
  group.entries = &entry;
  const wgpu::BindGroup bound = device.webgpu().CreateBindGroup(&group);
  const wgpu::CommandEncoder encoder = device.webgpu().CreateCommandEncoder();
  const wgpu::ComputePassEncoder pass = encoder.BeginComputePass();
  pass.SetPipeline(made);
  pass.SetBindGroup(0, bound);
  pass.DispatchWorkgroups(static_cast<std::uint32_t>(buffer.GetSize() / 4));
  pass.End();
  const wgpu::CommandBuffer commands = encoder.Finish();
  device.queue().Submit(1, &commands);
}

TEST_P(WebnnContext, BuildsNothingForALostContext) {
  GraphBuilder builder(context);
  const Operand a = builder.input("a", {DType::f32, {3}});
  Future<Graph> building = builder.build_async({{"y", builder.add(a, a)}});
  context.destroy();
  EXPECT_THAT(error_of([&] { building.get(); }), StartsWith("InvalidStateError: build: the context is lost"));
}

TEST_P(WebnnContext, ExportsTheTensorsOwnBuffer) {
  if (!device.is_gpu()) {
    EXPECT_THAT(error_of([&] { context.create_exportable_tensor(floats({3})); }),
                StartsWith("NotSupportedError: create exportable tensor: the context is on the cpu"));
    EXPECT_THAT(error_of([&] { context.export_to_gpu(context.create_tensor(floats({3}))); }),
                StartsWith("NotSupportedError"));
    EXPECT_THAT(error_of([&] { context.import_tensor(floats({3}), {}); }), StartsWith("NotSupportedError"));
    return;
  }
  const Graph graph = adder(context);
  Tensor shared = context.create_exportable_tensor(floats({3}));
  EXPECT_TRUE(shared.exportable());
  const Tensor b = context.create_tensor(floats({3})), y = context.create_tensor(floats({3}));
  EXPECT_THAT(read(context, shared), testing::Each(0.0f));
  context.write_tensor(shared, std::vector<float>{1, 2, 3});
  const wgpu::Buffer buffer = context.export_to_gpu(shared);
  EXPECT_EQ(buffer.Get(), context.export_to_gpu(shared).Get()) << "the same one again";
  EXPECT_EQ(buffer.GetSize(), 12u);
  EXPECT_EQ(buffer.GetUsage(), wgpu::BufferUsage::Storage | wgpu::BufferUsage::CopySrc | wgpu::BufferUsage::CopyDst);
  const char* const kRented = "exported to WebGPU until return_from_gpu()";
  EXPECT_THAT(error_of([&] { context.write_tensor(shared, std::vector<float>{1, 2, 3}); }),
              testing::AllOf(StartsWith("InvalidStateError"), HasSubstr(kRented)));
  EXPECT_THAT(error_of([&] { context.read_tensor(shared); }),
              testing::AllOf(StartsWith("InvalidStateError"), HasSubstr(kRented)));
  EXPECT_THAT(error_of([&] { context.dispatch(graph, {{"a", shared}, {"b", b}}, {{"y", y}}); }),
              testing::AllOf(StartsWith("InvalidStateError"), HasSubstr(kRented)));
  twice(device.gpu(), buffer);
  context.return_from_gpu(shared);
  EXPECT_THAT(error_of([&] { context.return_from_gpu(shared); }),
              StartsWith("InvalidStateError: return from WebGPU: the tensor is not exported"));
  context.dispatch(graph, {{"a", shared}, {"b", b}}, {{"y", y}});
  EXPECT_THAT(read(context, y), ElementsAre(2, 4, 6));
  // What was written before the caller wrote is written again.
  context.write_tensor(shared, std::vector<float>{1, 2, 3});
  EXPECT_THAT(read(context, shared), ElementsAre(1, 2, 3));
  EXPECT_THAT(error_of([&] { context.export_to_gpu(b); }),
              StartsWith("TypeError: export to WebGPU: the tensor was not made by create_exportable_tensor()"));
  shared.destroy();
  EXPECT_THAT(error_of([&] { context.export_to_gpu(shared); }), StartsWith("InvalidStateError"));

  Tensor lent = context.create_exportable_tensor(floats({3}));
  context.write_tensor(lent, std::vector<float>{1, 2, 3});
  const wgpu::Buffer kept = context.export_to_gpu(lent);
  lent.destroy();
  EXPECT_THAT(read(context, context.import_tensor(floats({3}), kept)), ElementsAre(1, 2, 3))
      << "what is exported is the caller's until that lets it go";
}

TEST_P(WebnnContext, ImportsACallersBuffer) {
  if (!device.is_gpu()) GTEST_SKIP() << "there are no WebGPU buffers on the cpu";
  wgpu::BufferDescriptor descriptor;
  descriptor.size = 1024;
  descriptor.usage = wgpu::BufferUsage::Storage | wgpu::BufferUsage::CopySrc | wgpu::BufferUsage::CopyDst;
  const wgpu::Buffer buffer = device.gpu().webgpu().CreateBuffer(&descriptor);
  const Graph graph = adder(context);
  const std::vector<float> values{4, 5, 6};
  device.gpu().queue().WriteBuffer(buffer, 20, values.data(), 12);
  const Tensor a = context.import_tensor(floats({3}), buffer, 20);
  const Tensor b = context.create_tensor(floats({3})), y = context.create_tensor(floats({3}));
  context.write_tensor(b, std::vector<float>{1, 1, 1});
  context.dispatch(graph, {{"a", a}, {"b", b}}, {{"y", y}});
  EXPECT_THAT(read(context, y), ElementsAre(5, 6, 7));
  const Tensor out = context.import_tensor(floats({3}), buffer, 512);
  EXPECT_THAT(error_of([&] { context.dispatch(graph, {{"a", a}, {"b", b}}, {{"y", out}}); }),
              StartsWith("TypeError: dispatch: "));
  context.dispatch(graph, {{"a", y}, {"b", b}}, {{"y", out}});
  EXPECT_THAT(read(context, out), ElementsAre(6, 7, 8));
  EXPECT_THAT(error_of([&] { context.import_tensor(floats({3}), buffer, 2); }),
              HasSubstr("the offset is 2, expected a multiple of 4"));
  EXPECT_THAT(error_of([&] { context.import_tensor(floats({3}), buffer, 1016); }),
              HasSubstr("the buffer has 1024 bytes, expected 12 from byte 1016 on"));
  EXPECT_THAT(error_of([&] { context.import_tensor(floats({3}), {}); }), HasSubstr("the buffer is null"));
  descriptor.usage = wgpu::BufferUsage::Storage;
  EXPECT_THAT(error_of([&] { context.import_tensor(floats({3}), device.gpu().webgpu().CreateBuffer(&descriptor)); }),
              HasSubstr("lacks one of the usages"));
}

TEST_P(WebnnContext, LosesItsDevice) {
  if (!device.is_gpu()) GTEST_SKIP() << "the cpu is not lost";
  Context doomed = Context::create(Device(gpu::Device::open(test::like(device.gpu()))));
  const Graph graph = adder(doomed);
  const Tensor a = doomed.create_tensor(floats({3})), b = doomed.create_tensor(floats({3})),
               y = doomed.create_tensor(floats({3}));
  doomed.dispatch(graph, {{"a", a}, {"b", b}}, {{"y", y}});
  Future<gpu::ReadBytes> pending = doomed.read_tensor(y);
  int called = 0;
  doomed.lost().then([&](Future<ContextLostInfo> info) {
    ++called;
    EXPECT_FALSE(info.get().message.empty());
  });
  doomed.device().gpu().webgpu().ForceLoss(wgpu::DeviceLostReason::Unknown, "pulled out for the test");
  EXPECT_FALSE(doomed.lost().get().message.empty());
  EXPECT_EQ(called, 1);
  EXPECT_THAT(error_of([&] { pending.get(); }), StartsWith("InvalidStateError"));
  EXPECT_THAT(error_of([&] { doomed.create_tensor(floats({3})); }), StartsWith("InvalidStateError"));
  EXPECT_THAT(error_of([&] { doomed.write_tensor(a, std::vector<float>{1, 2, 3}); }), StartsWith("InvalidStateError"));
  EXPECT_THAT(error_of([&] { doomed.dispatch(graph, {{"a", a}, {"b", b}}, {{"y", y}}); }),
              StartsWith("InvalidStateError"));
  EXPECT_TRUE(a.destroyed());
  EXPECT_TRUE(graph.destroyed());
  EXPECT_EQ(called, 1);
  Context next = Context::create(Device(gpu::Device::open(test::like(device.gpu()))));
  EXPECT_THAT(read(next, next.create_tensor(floats({3}))), testing::Each(0.0f));
}

TEST_P(WebnnContext, AdoptsADevice) {
  if (!device.is_gpu()) GTEST_SKIP() << "there is no WebGPU device on the cpu";
  Context adopted = Context::create(device.gpu().webgpu());
  EXPECT_TRUE(adopted.accelerated());
  EXPECT_THAT(read(adopted, adopted.create_tensor(floats({3}))), testing::Each(0.0f));
}

INSTANTIATE_TEST_SUITE_P(Devices, WebnnContext, testing::ValuesIn(test::all_devices()),
                         [](const auto& i) { return i.param; });

TEST(WebnnContextOptions, ChooseTheDevice) {
  EXPECT_FALSE(Context::create({.accelerated = false}).accelerated());
  // The preference outranks the wish, where there is a GPU for it.
  EXPECT_EQ(
      Context::create({.power_preference = PowerPreference::high_performance, .accelerated = false}).accelerated(),
      Device::open().is_gpu());
}

}  // namespace
}  // namespace weft::webnn
