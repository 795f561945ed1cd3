package lab

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	startTimeout = 30 * time.Second // from the start to the last greeting
	stopGrace    = 3 * time.Second  // from SIGTERM to SIGKILL
	logTail      = 4 << 10          // bytes of each log that a failed test prints
	module       = "github.com/urlget/urlget"
)

// A process is a server that runs as child processes with a temporary folder. All paths that it
// writes to are below dir.
type process struct {
	dir      string
	root     string
	in       *container        // where the children run; nil for this machine
	values   map[string]string // values of placeholders
	programs map[string]string
	ports    []port
	wrapper  []string      // command that runs the children, if any
	env      []string      // added to the environment of the children
	owner    owner         // user of the children
	grace    time.Duration // from SIGTERM to SIGKILL
	deadline time.Time     // for the last greeting
	children []*child
}

// An owner is a user and group. The zero value is the user of the test.
type owner struct{ uid, gid uint32 }

// nobody is Debian's user without files.
var nobody = owner{65534, 65534}

type child struct {
	name string
	cmd  *exec.Cmd
	done chan struct{} // closed at the end, after err is set
	err  error
}

var errEnded = errors.New("ended before its ports responded")

// startProcess runs svc as child processes, in a container unless image is "". If that is not
// possible, it skips the test.
func startProcess(t testing.TB, svc *service, root, image string) *Server {
	t.Helper()
	if !canStart {
		skip(t, "child processes need Linux")
	}
	if dir := closed(root); os.Getuid() == 0 && dir != "" {
		t.Fatalf("lab: servers cannot enter %s, which contains the served folder: see URLGET_LAB_CACHE and "+
			"lab.TempDir", dir)
	}
	var programs map[string]string
	if image == "" {
		if svc.asRoot && os.Getuid() != 0 {
			skip(t, svc.name+" needs root")
		}
		if svc.mounts && exec.Command("unshare", "--mount", "true").Run() != nil {
			skip(t, svc.name+" needs a mount namespace, which is not allowed here")
		}
		var missing string
		if programs, missing = svc.find(find); missing != "" {
			skip(t, fmt.Sprintf("%s is not installed (for %s): run integration/packages.sh", missing,
				svc.name))
		}
	}
	var p *process
	for try := 0; ; try++ {
		p = newProcess(root, programs)
		err := p.start(svc, image)
		if err == nil {
			break
		}
		log := p.log()
		p.stop()
		// Another program may have taken a port.
		if try == 2 || !errors.Is(err, errEnded) {
			t.Fatalf("lab: %s: %v\n%s", svc.name, err, log)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("lab: log of %s:\n%s", svc.name, p.log())
		}
		p.stop()
	})
	s := newServer(t, svc, root, p.log)
	s.Container = image != ""
	s.logPlace()
	for _, port := range svc.ports {
		s.addrs[port.name] = p.addr(port.name)
	}
	return s
}

func newProcess(root string, programs map[string]string) *process {
	return &process{
		root: root, programs: programs,
		grace: stopGrace, deadline: time.Now().Add(startTimeout),
	}
}

// closed returns the first folder, from dir upwards, that only its owner can enter, or "".
func closed(dir string) string {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode()&0o001 == 0 {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}

// find returns the paths of the programs of the service, or the name of a missing one.
func (svc *service) find(find func(string) string) (programs map[string]string, missing string) {
	programs = make(map[string]string)
	for _, name := range svc.programs {
		if programs[name] = find(name); programs[name] == "" {
			return nil, name
		}
	}
	return programs, ""
}

// start creates the temporary folder and the container, if any. It starts the children and waits
// until every port has responded.
func (p *process) start(svc *service, image string) error {
	dir, err := os.MkdirTemp("", "urlget-lab-"+svc.name+"-")
	if err != nil {
		return err
	}
	p.dir = dir
	p.ports = svc.ports
	p.values = map[string]string{
		"DIR": dir, "ROOT": p.root, "HOST": "127.0.0.1", "ADVERTISED": "127.0.0.1",
		"PASSIVE_MIN": "1024", "PASSIVE_MAX": "65535",
		"USER": User, "PASSWORD": Password,
	}
	for _, port := range p.ports {
		if port.sameAs != "" {
			p.values[portValue(port.name)] = p.values[portValue(port.sameAs)]
			continue
		}
		n, err := freePort()
		if err != nil {
			return err
		}
		p.values[portValue(port.name)] = strconv.Itoa(n)
	}
	if err := p.layout(); err != nil {
		return err
	}
	if image != "" {
		if p.in, err = startContainer(image, p.dir, p.root); err != nil {
			return err
		}
		var missing string
		if p.programs, missing = svc.find(p.in.find); missing != "" {
			return fmt.Errorf("%s is not in %s", missing, image)
		}
	}
	if err := svc.start(p); err != nil {
		return err
	}
	for i := range p.ports {
		if err := p.await(i); err != nil {
			return err
		}
	}
	return nil
}

// portValue returns the placeholder for the number of a port.
func portValue(port string) string {
	return "PORT_" + strings.ToUpper(strings.ReplaceAll(port, "-", "_"))
}

func (p *process) addr(port string) string {
	return "127.0.0.1:" + p.values[portValue(port)]
}

// layout creates files that every server needs: certificates, a password file, and the folders log
// and tmp, which every user may write to.
func (p *process) layout() error {
	if err := os.Chmod(p.dir, 0o755); err != nil {
		return err
	}
	for _, dir := range []string{"log", "tmp"} {
		if err := p.mkdir(dir, 0o1777); err != nil {
			return err
		}
	}
	files := map[string][]byte{
		"ca.pem": caPEM, "chain.pem": chainPEM, "key.pem": keyPEM,
		"all.pem": append(bytes.Clone(keyPEM), chainPEM...),
	}
	for name, content := range files {
		if err := p.write(name, content, 0o644); err != nil {
			return err
		}
	}
	return p.config("htpasswd")
}

// mkdir creates a folder below p.dir, with its parents, with exactly this mode.
func (p *process) mkdir(name string, mode fs.FileMode) error {
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	if mode&0o1000 != 0 {
		mode = mode&0o777 | fs.ModeSticky
	}
	return os.Chmod(path, mode)
}

// write creates a file below p.dir.
func (p *process) write(name string, content []byte, mode fs.FileMode) error {
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, content, mode); err != nil {
		return err
	}
	return os.Chmod(path, mode) // regardless of the umask
}

// link creates a second name for a file below p.dir.
func (p *process) link(name, second string) error {
	return os.Link(filepath.Join(p.dir, name), filepath.Join(p.dir, second))
}

// chown changes the owner of a folder below p.dir with its files, if root runs the test.
func (p *process) chown(name string, o owner) error {
	if os.Getuid() != 0 {
		return nil
	}
	return filepath.WalkDir(filepath.Join(p.dir, name), func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(o.uid), int(o.gid))
	})
}

// config writes expanded configuration files of the lab to p.dir.
func (p *process) config(names ...string) error {
	for _, name := range names {
		template, err := config.ReadFile("config/" + name)
		if err != nil {
			return err
		}
		text, err := expand(string(template), p.values)
		if err != nil {
			return fmt.Errorf("config/%s: %w", name, err)
		}
		mode := fs.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := p.write(name, []byte(text), mode); err != nil {
			return err
		}
	}
	return nil
}

// command returns a command with expanded arguments. Its output goes to a file in log.
func (p *process) command(program string, args ...string) (*exec.Cmd, error) {
	path := p.programs[program]
	if path == "" {
		path = program // a program of the system
	}
	line := slices.Concat(p.wrapper, []string{path}, args)
	for i, arg := range line {
		var err error
		if line[i], err = expand(arg, p.values); err != nil {
			return nil, fmt.Errorf("%s: %w", program, err)
		}
	}
	out, err := os.OpenFile(filepath.Join(p.dir, "log", filepath.Base(program)+".out"),
		os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	runner, env := p.owner, append(os.Environ(), p.env...)
	if p.in != nil {
		line = p.in.wrap(line, p.env, p.dir, p.owner)
		runner, env = owner{}, nil // the Docker client runs as the user of the test
	}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir = p.dir
	cmd.Env = env
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = attributes(runner)
	return cmd, nil
}

// build builds a program of this module into p.dir.
func (p *process) build(pkg string) error {
	// Tests run in the folder of their package, which is in the module.
	cmd := exec.Command(p.programs["go"], "build", "-o", p.dir, module+"/"+pkg)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// run runs a command to its end, with input as standard input.
func (p *process) run(input, program string, args ...string) error {
	cmd, err := p.command(program, args...)
	if err != nil {
		return err
	}
	defer cmd.Stdout.(*os.File).Close()
	cmd.Stdin = strings.NewReader(input)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	return nil
}

// spawn starts a server, which runs until stop.
func (p *process) spawn(program string, args ...string) error {
	cmd, err := p.command(program, args...)
	if err != nil {
		return err
	}
	defer cmd.Stdout.(*os.File).Close()
	if err := cmd.Start(); err != nil {
		return err
	}
	c := &child{name: program, cmd: cmd, done: make(chan struct{})}
	go func() {
		c.err = cmd.Wait()
		close(c.done)
	}()
	p.children = append(p.children, c)
	return nil
}

// await waits until port i responds, a child ends or the deadline passes.
func (p *process) await(i int) error {
	port := p.ports[i]
	for {
		err := port.greeting.check(p.addr(port.name), 2*time.Second)
		if err == nil {
			return nil
		}
		for _, c := range p.children {
			select {
			case <-c.done:
				return fmt.Errorf("%s: %w: %v", c.name, errEnded, c.err)
			default:
			}
		}
		if time.Now().After(p.deadline) {
			return fmt.Errorf("port %s does not respond after %v: %w", port.name, startTimeout, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// stop stops the children in reverse order, and removes the container and the folder.
func (p *process) stop() {
	if p.in != nil {
		p.in.remove()
	}
	for i := len(p.children) - 1; i >= 0; i-- {
		c := p.children[i]
		terminate(c.cmd.Process.Pid)
		select {
		case <-c.done:
		case <-time.After(p.grace):
		}
		kill(c.cmd.Process.Pid) // also kills descendants
		<-c.done
	}
	if p.dir != "" {
		os.RemoveAll(p.dir)
	}
}

// log returns the end of every file in log.
func (p *process) log() string {
	var b strings.Builder
	// An unreadable log is printed as its error.
	_ = filepath.WalkDir(filepath.Join(p.dir, "log"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && len(content) == 0 {
			return nil
		}
		if err != nil {
			content = []byte(err.Error())
		}
		fmt.Fprintf(&b, "--- %s\n%s\n", filepath.Base(path), content[max(0, len(content)-logTail):])
		return nil
	})
	return b.String()
}
