package server

// Startup tells how far the start of the namespace is. Its method may be called from any goroutine.
type Startup interface {
	// Now says in words what is being done, for people. Once over, the namespace is there or has failed.
	Now() (text string, over bool)
}
