package lab

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

// Child processes listen below the kernel's range of ephemeral ports. So no outgoing connection can
// take a port between its choice and its use.
const lowestPort, highestPort = 20000, 27999

var taken struct {
	sync.Mutex
	ports map[int]bool
}

// freePort returns an unused port of 127.0.0.1. It returns each port only once per process.
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
