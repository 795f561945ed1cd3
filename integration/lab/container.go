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

// containerLife limits the life of a container after its test has crashed.
const containerLife = 30 * time.Minute

// A container runs the programs of a process, with an image of docker-compose.yml. It shares this
// machine's network, so that ports and addresses are the same inside and outside. The process's
// folder and root have the same paths too.
type container struct{ image, name string }

var containers atomic.Int64

// image returns the image of the service in docker-compose.yml, or "" if Docker does not have it.
func (svc *service) image() string {
	image := "urlget-lab/" + svc.composeName()
	if docker("image", "inspect", "-f", "{{.Id}}", image) == "" {
		return ""
	}
	return image
}

// startContainer starts a container that waits for commands. It allows mounts, for programs with
// private accounts.
func startContainer(image string, folders ...string) (*container, error) {
	c := &container{image: image, name: fmt.Sprintf("urlget-lab-%d-%d", os.Getpid(), containers.Add(1))}
	args := []string{
		"run", "--detach", "--rm", "--init", "--network", "host", "--user", "0:0", "--name", c.name,
		"--cap-add", "SYS_ADMIN", "--security-opt", "apparmor=unconfined", // for mounts
		"--cap-add", "SYS_NICE", "--cap-add", "DAC_READ_SEARCH", // required by pure-ftpd
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
	args := []string{"docker", "exec", "--interactive", "--workdir", dir, "--user",
		fmt.Sprintf("%d:%d", o.uid, o.gid)}
	for _, pair := range env {
		args = append(args, "--env", pair)
	}
	return slices.Concat(args, []string{c.name}, line)
}

// find returns the path of a program in the container, or "". Programs that a test builds are on
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

// remove removes the container. It ignores a missing one.
func (c *container) remove() { _ = exec.Command("docker", "rm", "--force", c.name).Run() }
