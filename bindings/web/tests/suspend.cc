// Lets a test program wait for the GPU: JavaScript Promise Integration sets its stack aside meanwhile.
#include <emscripten.h>

EM_JS_DEPS(suspend, "$gpu");

// Until the next answer, or that time is over.
// clang-format off
EM_ASYNC_JS(void, wait_for_answer, (double milliseconds), {
  let timer;
  await new Promise((resolve) => {
    gpu.waiting.push(resolve);
    timer = setTimeout(resolve, Math.min(milliseconds, 1e6));
  });
  clearTimeout(timer);
});
// clang-format on

extern "C" void gpu_suspend(double milliseconds) { wait_for_answer(milliseconds); }
