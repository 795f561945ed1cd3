package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// containerLife bounds how long a container outlives a test that crashed.
const containerLife = 30 * time.Minute

// A container is where the programs of a process run instead of on this machine: one of the images
// of docker-compose.yml, with the network of this machine, so that any port and address is the same
// inside and outside, and with the process's folder and root at their own paths.
type container struct{ image, name string }

var containers atomic.Int64

// image returns the image that docker-compose.yml builds for the service, or "" if Docker does not
// have it.
func (svc *service) image() string {
	image := "urlget-lab/" + svc.composeName()
	if docker("image", "inspect", "-f", "{{.Id}}", image) == "" {
		return ""
	}
	return image
}

// startContainer starts a container that waits for commands. It may mount, for the programs that
// get accounts of their own in a mount namespace.
func startContainer(image string, folders ...string) (*container, error) {
	c := &container{image: image, name: fmt.Sprintf("urlget-lab-%d-%d", os.Getpid(), containers.Add(1))}
	args := []string{
		"run", "--detach", "--rm", "--init", "--network", "host", "--user", "0:0", "--name", c.name,
		"--cap-add", "SYS_ADMIN", "--security-opt", "apparmor=unconfined", // to mount
		"--cap-add", "SYS_NICE", "--cap-add", "DAC_READ_SEARCH", // without which pure-ftpd ends
	}
	for _, dir := range folders {
		args = append(args, "--volume", dir+":"+dir)
	}
	args = append(args, image, "sleep", strconv.Itoa(int(containerLife.Seconds())))
	if out, err := exec.Command("docker", args...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("docker run %s: %w\n%s", image, err, out)
	}
	return c, nil
}

// wrap returns the command line that runs line in the container.
func (c *container) wrap(line, env []string, dir string, o owner) []string {
	args := []string{"docker", "exec", "--interactive", "--workdir", dir, "--user", fmt.Sprintf("%d:%d", o.uid, o.gid)}
	for _, pair := range env {
		args = append(args, "--env", pair)
	}
	return slices.Concat(args, []string{c.name}, line)
}

// find returns the path of a program in the container, or "". What is built by a test is built on
// this machine.
func (c *container) find(program string) string {
	if program == "go" {
		return find(program)
	}
	path := program
	if filepath.Base(program) != program {
		path = filepath.Join("/", program)
	}
	out, err := exec.Command("docker", "exec", c.name, "sh", "-c",
		`command -v "$1" || { [ -e "$1" ] && echo "$1"; }`, "sh", path).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// remove ends all that runs in the container. One that is gone already is no concern.
func (c *container) remove() { _ = exec.Command("docker", "rm", "--force", c.name).Run() }
