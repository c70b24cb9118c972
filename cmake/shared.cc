// weft_shared consists of the objects of weft alone; CMake wants a source for each library.
