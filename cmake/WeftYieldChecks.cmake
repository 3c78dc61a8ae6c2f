# WeftYieldChecks: compiles targets so that their loops pay and give way. Part of
# the installed package.

# weft_enable_yield_checks(TARGET): every function and every loop of its own code
# gets checks of 1 op (weft/yield_check.hpp). Calls target_link_libraries() with
# a keyword, so other calls for the target need one as well. By g++ and clang
# only. See docs/guide.md for what such code may not do.
# An inline function that an unchecked object has as well exists once, as the
# linker sees it first: link such targets before unchecked ones, or see
# docs/security.md for how to keep the copies apart.
function(weft_enable_yield_checks target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(flags -fsanitize-coverage=trace-pc)
  elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # What it would prune are loops that it knows to be entered.
    set(flags -fsanitize-coverage=trace-pc,no-prune)
  else()
    message(FATAL_ERROR "weft_enable_yield_checks: "
      "no yield checks with ${CMAKE_CXX_COMPILER_ID}")
  endif()
  # Link-time optimization would leave them out.
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:C,CXX>:${flags}>
    $<$<COMPILE_LANGUAGE:C,CXX>:-fno-lto>)
  target_compile_definitions(${target} PRIVATE WEFT_YIELD_CHECKS)
  target_link_libraries(${target} PUBLIC weft::yield_checks)
endfunction()
