package lab

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

// Child processes listen below the range from which the kernel gives ports to outgoing connections,
// so that none of those takes a port between its choice and its use.
const lowestPort, highestPort = 20000, 27999

var taken struct {
	sync.Mutex
	ports map[int]bool
}

// freePort returns a port of 127.0.0.1 on which nobody listens and that it has not returned before
// in this process.
func freePort() (int, error) {
	taken.Lock()
	defer taken.Unlock()
	if taken.ports == nil {
		taken.ports = make(map[int]bool)
	}
	for range 1000 {
		port := lowestPort + rand.IntN(highestPort-lowestPort+1)
		if taken.ports[port] {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		l.Close()
		taken.ports[port] = true
		return port, nil
	}
	return 0, fmt.Errorf("no free port from %d to %d", lowestPort, highestPort)
}
