// Linked with one of Weft's targets as a whole.
int main() { return 0; }
