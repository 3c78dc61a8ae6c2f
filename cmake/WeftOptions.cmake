# WeftOptions: the options WEFT_*, and what they do to a target.

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Kind of build" FORCE)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(weft_debug ON)
else()
  set(weft_debug OFF)
endif()

option(WEFT_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(WEFT_BUILD_BENCH "Build weft-bench" ${PROJECT_IS_TOP_LEVEL})
option(WEFT_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(WEFT_WERROR "Warnings are errors" OFF)
option(WEFT_DEBUG_CHECKS "Check weft's own invariants" ${weft_debug})
option(WEFT_LTO "Optimize across files" OFF)
set(WEFT_PROGRAMS ".*" CACHE STRING
  "Which tests and examples to build: a pattern of names of programs")
set(WEFT_TEST_BATCH 8 CACHE STRING
  "So many files of a test program are compiled at once; 1: each by itself")
option(WEFT_MODEL "As models see it: tiny queues, no asymmetric barriers" OFF)
set(WEFT_SANITIZE "" CACHE STRING
  "Sanitizers: empty, address;undefined or thread")

if(WEFT_LTO)
  include(CheckIPOSupported)
  check_ipo_supported(LANGUAGES C CXX)
endif()

# weft_wants(PROGRAM RESULT): is it one of WEFT_PROGRAMS?
function(weft_wants program result)
  if(program MATCHES "^(${WEFT_PROGRAMS})$")
    set(${result} ON PARENT_SCOPE)
  else()
    set(${result} OFF PARENT_SCOPE)
  endif()
endfunction()

# weft_build_options(TARGET): how we compile our own code. Private.
function(weft_build_options target)
  set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    list(APPEND warnings -Wthread-safety)
  endif()
  if(WEFT_WERROR)
    list(APPEND warnings -Werror)
  endif()
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:C,CXX>:${warnings}>)
  # Messages name files as they are called in the repository.
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:C,CXX>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>)
  if(WEFT_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:C,CXX>:-fno-omit-frame-pointer>)
  endif()
  if(WEFT_SANITIZE)
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize-recover=all>)
  endif()
  if(WEFT_LTO)
    set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION ON)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "STATIC_LIBRARY" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # Installed, the archive must serve clients that link without LTO, too.
      target_compile_options(${target} PRIVATE
        $<$<COMPILE_LANGUAGE:C,CXX>:-ffat-lto-objects>)
    endif()
  endif()
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    C_STANDARD 99
    C_EXTENSIONS OFF)
endfunction()

# weft_client_options(TARGET): what library and client must agree on, because
# the headers show it. Public, and part of the installed package.
function(weft_client_options target)
  set(flags)
  if(WEFT_MODEL)
    target_compile_definitions(${target} PUBLIC WEFT_MODEL)
    list(APPEND flags -DWEFT_MODEL)
  endif()
  if(WEFT_DEBUG_CHECKS)
    target_compile_definitions(${target} PUBLIC WEFT_DEBUG_CHECKS)
    list(APPEND flags -DWEFT_DEBUG_CHECKS)
  endif()
  if(WEFT_SANITIZE)
    list(JOIN WEFT_SANITIZE "," sanitizers)
    set(sanitize -fsanitize=${sanitizers})
    target_compile_options(${target} PUBLIC ${sanitize})
    target_link_options(${target} PUBLIC ${sanitize})
    list(APPEND flags ${sanitize})
  endif()
  list(JOIN flags " " flags)
  set(WEFT_CLIENT_FLAGS "${flags}" PARENT_SCOPE)  # for weft.pc
endfunction()
