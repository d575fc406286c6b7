# The Debian package: `cpack` in the build directory.
#
# Libraries become Depends through dpkg-shlibdeps. Manual pages and changelog are compressed without
# a time in them, so that a package can be built twice alike.
find_program(GZIP_PROGRAM gzip)
set(NUMALOAD_GENERATED ${CMAKE_BINARY_DIR}/generated)

add_executable(generate tools/man/generate.c)
target_link_libraries(generate PRIVATE core)

set(generated)
# numaload_generate(TEMPLATE OUT): what is generated from the program itself.
function(numaload_generate template out)
    add_custom_command(
        OUTPUT ${NUMALOAD_GENERATED}/${out}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${NUMALOAD_GENERATED}
        COMMAND generate ${CMAKE_SOURCE_DIR}/${template} > ${NUMALOAD_GENERATED}/${out}
        DEPENDS generate ${CMAKE_SOURCE_DIR}/${template}
        VERBATIM)
    set(generated ${generated} ${NUMALOAD_GENERATED}/${out} PARENT_SCOPE)
endfunction()

# numaload_compress(FILE OUT): for /usr/share/man and /usr/share/doc.
function(numaload_compress file out)
    add_custom_command(
        OUTPUT ${NUMALOAD_GENERATED}/${out}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${NUMALOAD_GENERATED}
        COMMAND ${GZIP_PROGRAM} -9nc ${file} > ${NUMALOAD_GENERATED}/${out}
        DEPENDS ${file}
        VERBATIM)
    set(generated ${generated} ${NUMALOAD_GENERATED}/${out} PARENT_SCOPE)
endfunction()

numaload_generate(tools/completion/numaload.bash.in numaload.bash)
install(FILES ${NUMALOAD_GENERATED}/numaload.bash RENAME numaload
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)

# A page NAME.SECTION.in is generated, a page NAME.SECTION is taken as it is.
file(GLOB pages CONFIGURE_DEPENDS tools/man/*.[1-8].in tools/man/*.[1-8])
foreach(page ${pages})
    get_filename_component(name ${page} NAME)
    if(name MATCHES "\\.in$")
        string(REGEX REPLACE "\\.in$" "" name ${name})
        numaload_generate(tools/man/${name}.in ${name})
        set(page ${NUMALOAD_GENERATED}/${name})
    endif()
    string(REGEX REPLACE ".*\\." "" section ${name})
    numaload_compress(${page} ${name}.gz)
    install(FILES ${NUMALOAD_GENERATED}/${name}.gz
            DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME numaload)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The numaload authors <numaload@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "NUMA-aware load generator for NFS/RDMA")
set(CPACK_PACKAGE_DESCRIPTION
"Reads files with O_DIRECT, many threads and deep queues, on the NUMA nodes
that are asked for, with the completions on the nodes that are asked for,
and records throughput, latency, SLUB counters, CPU time and interrupts in
one window.")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "gnuplot-nox, linux-cpupower")
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

file(WRITE ${NUMALOAD_GENERATED}/changelog
     "numaload (${PROJECT_VERSION}) unstable; urgency=medium

  * Built from the sources of this version.

 -- ${CPACK_PACKAGE_CONTACT}  Tue, 01 Dec 2026 00:00:00 +0000
")
numaload_compress(${NUMALOAD_GENERATED}/changelog changelog.gz)
install(FILES ${NUMALOAD_GENERATED}/changelog.gz DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE RENAME copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

add_custom_target(documents ALL DEPENDS ${generated})
include(CPack)
