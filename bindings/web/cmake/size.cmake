# Writes PACKAGE/size.js, which has the bytes of weft.wasm.
file(SIZE ${PACKAGE}/weft.wasm size)
file(WRITE ${PACKAGE}/size.js "export const WASM_BYTES = ${size};\n")
