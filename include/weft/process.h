// The end of a process and fork(), for what embeds Weft in an interpreter: threads that nobody joins, such as daemons
// of Python, may be anywhere in Weft when objects with static lifetime are destroyed and drivers of GPUs are torn down,
// and a child of fork() has none of its parent's threads and devices.
//
// A process that has used a GPU ends in this order: threads inside Weft finish what they compute there (or wait for);
// other threads that enter it, or use a GPU, stay until the process is gone; work of GPUs that nobody waits for ends;
// functions of at_process_end() are called. Then drivers end. None of these waits longer than ten seconds, after which
// threads go on, since a destructor may join them.
#pragma once

#include <functional>

namespace weft {

// While it lives, this thread is inside Weft: the process's end waits for it. From the end on, constructing one stays
// as described above, except on the thread that ends the process. Weft's own functions that compute have one; what
// keeps state of its own beside a device has one wherever it uses that. They nest.
// Throws Unsupported in a child of fork(), whose parent was inside Weft or called end_before_static_objects().
class InWeft {
 public:
  InWeft();
  ~InWeft();
  InWeft(const InWeft&) = delete;
  InWeft& operator=(const InWeft&) = delete;
};

// True in such a child, which can only leave what belongs to devices as it is.
bool is_forked() noexcept;

// Calls `end` when the process ends, after threads have left Weft; the last one first. What it throws is lost.
void at_process_end(std::function<void()> end);

// For programs whose threads may be at work when main() returns, such as interpreters: the process ends as described
// above when its main thread does, before any object with static lifetime is destroyed. Without it that happens only
// where a GPU was used, and after objects that were made later than the first device; a thread that makes tensors then
// may find Weft's own tables destroyed. Children of fork() end by _exit(), without destructors and handlers of
// their parent's, which would wait for threads that they do not have.
void end_before_static_objects();

}  // namespace weft
