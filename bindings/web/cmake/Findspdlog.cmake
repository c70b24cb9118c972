weft_web_package(spdlog::spdlog spdlog)
target_compile_definitions(spdlog::spdlog INTERFACE SPDLOG_FMT_EXTERNAL)
set(spdlog_FOUND TRUE)
