# Finds Foretell, and hunts in tests with it.
#
#   list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_SOURCE_DIR}/cmake)
#   find_package(Foretell)
#   if(Foretell_FOUND)
#     foretell_instrument(queue queue_test)
#     foretell_add_test(NAME queue.foretell COMMAND queue_test TIMEOUT 30)
#   endif()
#
# Variables:
#   Foretell_FOUND, Foretell_EXECUTABLE, Foretell_VERSION
#
# foretell_instrument(<target>...)
#   Builds these targets so that they can be recorded, with the project's own compilers. Libraries that the program
#   links need it, too: accesses in code that is not instrumented are not seen. So does every program that links an
#   instrumented static library. Not needed if the whole project is built with the toolchain file
#   (foretell-toolchain.cmake).
#
# foretell_add_test(NAME <name> COMMAND <target> [<argument>...] [TIMEOUT <seconds>] [OPTIONS <option>...])
#   Adds a test that hunts in the program, for TIMEOUT seconds at most (60), and fails if something is found. OPTIONS
#   are passed to `foretell hunt`. Reports are in ${CMAKE_CURRENT_BINARY_DIR}/foretell/<name>. The test has the label
#   `foretell`: `ctest -LE foretell` leaves all of them out.

find_program(Foretell_EXECUTABLE NAMES foretell DOC "The foretell program" HINTS "$ENV{HOME}/.cargo/bin")
mark_as_advanced(Foretell_EXECUTABLE)

if(Foretell_EXECUTABLE)
  execute_process(
    COMMAND "${Foretell_EXECUTABLE}" --version
    OUTPUT_VARIABLE _foretell_version ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(_foretell_version MATCHES "foretell ([0-9.]+)")
    set(Foretell_VERSION "${CMAKE_MATCH_1}")
  endif()
  unset(_foretell_version)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  Foretell
  REQUIRED_VARS Foretell_EXECUTABLE
  VERSION_VAR Foretell_VERSION)

if(Foretell_FOUND)
  function(foretell_instrument)
    if(CMAKE_VERSION VERSION_LESS 3.21)
      message(FATAL_ERROR "foretell_instrument needs CMake 3.21; build everything with foretell-toolchain.cmake instead")
    endif()
    foreach(target IN LISTS ARGN)
      set_target_properties(${target} PROPERTIES
        C_COMPILER_LAUNCHER "${Foretell_EXECUTABLE};cc;--compiler"
        C_LINKER_LAUNCHER "${Foretell_EXECUTABLE};cc;--compiler"
        CXX_COMPILER_LAUNCHER "${Foretell_EXECUTABLE};c++;--compiler"
        CXX_LINKER_LAUNCHER "${Foretell_EXECUTABLE};c++;--compiler")
    endforeach()
  endfunction()

  function(foretell_add_test)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;TIMEOUT" "COMMAND;OPTIONS")
    if(NOT arg_NAME OR NOT arg_COMMAND OR arg_UNPARSED_ARGUMENTS)
      message(FATAL_ERROR
        "usage: foretell_add_test(NAME name COMMAND target [arguments..] [TIMEOUT seconds] [OPTIONS options..])")
    endif()
    if(NOT arg_TIMEOUT)
      set(arg_TIMEOUT 60)
    endif()
    # A target stands for its file.
    list(POP_FRONT arg_COMMAND program)
    if(TARGET ${program})
      set(program "$<TARGET_FILE:${program}>")
    endif()
    add_test(
      NAME ${arg_NAME}
      COMMAND "${Foretell_EXECUTABLE}" hunt --results "${CMAKE_CURRENT_BINARY_DIR}/foretell/${arg_NAME}"
              --timeout ${arg_TIMEOUT} ${arg_OPTIONS} -- "${program}" ${arg_COMMAND})
    # What a hunt has begun when its time is up is ended in order.
    math(EXPR patience "${arg_TIMEOUT} * 2 + 60")
    # 3: nothing found, but the time was up.
    set_tests_properties(${arg_NAME} PROPERTIES LABELS foretell TIMEOUT ${patience} SKIP_RETURN_CODE 3)
  endfunction()
endif()
