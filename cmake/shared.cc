// weft_shared consists of the objects of Weft's targets alone; CMake wants a source for each library.
