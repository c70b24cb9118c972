# There are none, and nothing needs them.
weft_web_package(Threads::Threads)
set(Threads_FOUND TRUE)
