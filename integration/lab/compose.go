package lab

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// probeTimeout limits each step of the search for a service in docker-compose.
const probeTimeout = 5 * time.Second

// inCompose returns the service that runs in docker-compose. Its error names the port that does not
// respond.
func (svc *service) inCompose(t testing.TB, root string) (*Server, error) {
	s := newServer(t, svc, root, svc.dockerLog)
	s.Compose = true
	for _, p := range svc.ports {
		addr, err := svc.composeAddr(p)
		if err != nil {
			return nil, err
		}
		if err := p.greeting.check(addr, probeTimeout); err != nil {
			return nil, err
		}
		s.addrs[p.name] = addr
		s.inner[p.name] = net.JoinHostPort(svc.composeName(), strconv.Itoa(p.number()))
	}
	s.logPlace()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("lab: log of %s in docker-compose:\n%s", svc.name, s.Log())
		}
	})
	return s, nil
}

// composeName returns the name of the service in docker-compose.yml.
func (svc *service) composeName() string {
	if svc.container != "" {
		return svc.container
	}
	return svc.name
}

// composeAddr returns the address of a port.
func (svc *service) composeAddr(p port) (string, error) {
	if p.direct == 0 {
		return fmt.Sprintf("127.0.0.1:%d", p.published), nil
	}
	id := svc.containerID()
	if id == "" {
		return "", fmt.Errorf("no container of %s is running", svc.composeName())
	}
	ip := docker("inspect", "-f", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", id)
	if ip == "" {
		return "", fmt.Errorf("the container of %s has no address", svc.composeName())
	}
	return net.JoinHostPort(ip, strconv.Itoa(p.direct)), nil
}

func (svc *service) containerID() string {
	ids := docker("ps", "-q", "--filter", "label=com.docker.compose.service="+svc.composeName(),
		"--filter", "label=org.urlget.lab")
	id, _, _ := strings.Cut(ids, "\n")
	return id
}

func (svc *service) dockerLog() string {
	id := svc.containerID()
	if id == "" {
		return "no container of " + svc.composeName()
	}
	return docker("logs", "--tail", "200", id)
}

// docker returns the output of the command, or "" if it fails.
func docker(args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, "docker", args...).CombinedOutput()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
