# embed.cmake - files as C arrays: cmake -DOUT=… -DROOT=… -P tools/embed.cmake
#
# Writes what src/cmd/study_assets.h declares: the page of `penstock sim --html`, and uPlot, which npm
# brings into web/node_modules by the hash of web/package-lock.json. Without it there is no program: a report
# without its plots is none.
set(files
    report.html=report.html
    report.css=report.css
    report.js=report.js
    uplot.css=node_modules/uplot/dist/uPlot.min.css
    uplot.js=node_modules/uplot/dist/uPlot.iife.min.js
    uplot.licence=node_modules/uplot/LICENSE)

set(web ${ROOT}/web)
set(remedy "Run `tools/install-deps web`, or `npm ci` in web/.")
file(READ ${web}/package-lock.json lock)
string(JSON wanted GET "${lock}" packages node_modules/uplot version)
if(NOT EXISTS ${web}/node_modules/uplot/package.json)
    message(FATAL_ERROR "uPlot ${wanted} is missing (web/node_modules/uplot). ${remedy}")
endif()
file(READ ${web}/node_modules/uplot/package.json package)
string(JSON version GET "${package}" version)
if(NOT version STREQUAL wanted)
    message(FATAL_ERROR "uPlot ${version} is in web/node_modules, ${wanted} is wanted. ${remedy}")
endif()

set(arrays "")
set(rows "")
set(number 0)
foreach(file ${files})
    string(REGEX MATCH "^([^=]+)=(.+)$" whole ${file})
    set(name ${CMAKE_MATCH_1})
    set(path ${web}/${CMAKE_MATCH_2})
    if(NOT EXISTS ${path})
        message(FATAL_ERROR "${path} is missing. ${remedy}")
    endif()
    file(READ ${path} bytes HEX)
    string(LENGTH "${bytes}" digits)
    math(EXPR length "${digits} / 2")
    string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
    string(APPEND arrays "static const char file_${number}[] = { /* ${name} */\n${bytes}0};\n")
    string(APPEND rows "    {\"${name}\", file_${number}, ${length}},\n")
    math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "/* Written by tools/embed.cmake. */\n#include \"cmd/study_assets.h\"\n\n${arrays}\n"
    "const struct pst_asset pst_assets[] = {\n${rows}};\nconst size_t pst_assets_count = ${number};\n")
