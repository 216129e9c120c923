# nvshmemrs as CMake targets, by find_package(nvshmemrs):
#   nvshmemrs::nvshmemrs   the library, with its headers for C, C++ and kernels
#   nvshmemrs::shmem       OpenSHMEM's names: shmem.h
#   nvshmemrs::nvshmem     NVSHMEM's names: nvshmem.h; where the library is installed
#   nvshmemrs::fortran     the Fortran modules; where they are installed
# The words after COMPONENTS are the names behind `nvshmemrs::`.

get_filename_component(nvshmemrs_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(nvshmemrs_INCLUDE_DIRS "${nvshmemrs_PREFIX}/include")

function(nvshmemrs_add_library name file includes libraries)
  if(NOT TARGET nvshmemrs::${name} AND EXISTS "${nvshmemrs_PREFIX}/lib/${file}")
    add_library(nvshmemrs::${name} UNKNOWN IMPORTED)
    set_target_properties(nvshmemrs::${name} PROPERTIES
      IMPORTED_LOCATION "${nvshmemrs_PREFIX}/lib/${file}"
      INTERFACE_INCLUDE_DIRECTORIES "${includes}"
      INTERFACE_LINK_LIBRARIES "${libraries}")
  endif()
endfunction()

set(nvshmemrs_COMPAT "${nvshmemrs_PREFIX}/include/nvshmemrs-compat")
nvshmemrs_add_library(nvshmemrs libnvshmemrs.so.0 "${nvshmemrs_INCLUDE_DIRS}" "")
nvshmemrs_add_library(shmem libnvshmemrs_shmem.so.0 "${nvshmemrs_COMPAT}" nvshmemrs::nvshmemrs)
nvshmemrs_add_library(nvshmem libnvshmemrs_nvshmem.so.0 "${nvshmemrs_COMPAT}" nvshmemrs::nvshmemrs)
nvshmemrs_add_library(fortran libnvshmemrs_fortran.a "${nvshmemrs_PREFIX}/include/nvshmemrs-fortran" nvshmemrs::nvshmemrs)

if(NOT TARGET nvshmemrs::nvshmemrs)
  set(nvshmemrs_FOUND FALSE)
  set(nvshmemrs_NOT_FOUND_MESSAGE "there is no ${nvshmemrs_PREFIX}/lib/libnvshmemrs.so.0")
endif()
foreach(nvshmemrs_component IN LISTS nvshmemrs_FIND_COMPONENTS)
  if(TARGET nvshmemrs::${nvshmemrs_component})
    set(nvshmemrs_${nvshmemrs_component}_FOUND TRUE)
  elseif(nvshmemrs_FIND_REQUIRED_${nvshmemrs_component})
    set(nvshmemrs_FOUND FALSE)
    set(nvshmemrs_NOT_FOUND_MESSAGE "nvshmemrs in ${nvshmemrs_PREFIX} has no ${nvshmemrs_component}")
  endif()
endforeach()
