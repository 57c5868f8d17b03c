# Builds a whole project so that it can be recorded:
#
#   cmake -B build-foretell --toolchain cmake/foretell-toolchain.cmake
#   cmake --build build-foretell
#   foretell test -- ctest --test-dir build-foretell
#
# The compilers that do the work are those of FORETELL_CC and FORETELL_CXX, or the usual ones.

find_program(Foretell_EXECUTABLE NAMES foretell REQUIRED HINTS "$ENV{HOME}/.cargo/bin")
set(CMAKE_C_COMPILER "${Foretell_EXECUTABLE};cc")
set(CMAKE_CXX_COMPILER "${Foretell_EXECUTABLE};c++")
