// The end of the process, and processes that fork() makes of it. Threads of the program that nobody joins, such as
// daemons of Python, may be anywhere in MLX when drivers are torn down; a child of fork() has none of the threads that
// the GPU needs.
#pragma once

namespace mlx::core::webgpu {

// While it lives, this thread may use the GPU, and the process's end waits for it. From then on other threads stay in
// the constructor until the process is gone. It throws in a child that fork() made after the GPU was opened.
class UsesGpu {
 public:
  UsesGpu();
  ~UsesGpu();
  UsesGpu(const UsesGpu&) = delete;
  UsesGpu& operator=(const UsesGpu&) = delete;
};

// True in such a child, which can only leave what belongs to the GPU as it is.
bool is_forked();

// Once the GPU is open: calls `end` when the process ends, after all other threads have left the GPU for good. A child
// of fork() ends without it, and without the handlers of drivers, which would wait for threads that it does not have.
void at_process_end(void (*end)());

}  // namespace mlx::core::webgpu
