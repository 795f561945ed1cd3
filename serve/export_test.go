package serve

import "time"

// SetDelay sets how long a page waits for the response before it is begun.
func (s *Server) SetDelay(d time.Duration) { s.delay = d }

func (s *Server) TimeGate(host string) string { return s.timeGate(host) }
