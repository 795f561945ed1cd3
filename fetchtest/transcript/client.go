package transcript

import (
	"bufio"
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// Client plays the client's side of a conversation with the server at addr (host:port). It plays
// scripts without a port of their own one after the other. It plays each other script on a
// connection to the port that replaces the script's variable in the server's line. If the server
// deviates, the test fails with a diff. Lines marked "C?" are sent.
func Client(t testing.TB, conv *Conversation, addr string) {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, conv: conv, host: host, port: port, ports: map[string]string{},
		played: map[string]chan struct{}{}}
	for _, sc := range conv.main() {
		c.play(sc, port)
	}
	c.wg.Wait()
	for _, sc := range conv.scripts {
		if sc.ownPort && c.ports[sc.name] == "" {
			t.Errorf("%s: the server named no port for %q", conv.name, sc.name)
		}
	}
}

type client struct {
	t          testing.TB
	conv       *Conversation
	host, port string
	wg         sync.WaitGroup

	mu     sync.Mutex
	ports  map[string]string        // maps scripts to the ports that the server sent
	played map[string]chan struct{} // by script, closed when it has been played; nil before it starts
}

func (c *client) play(sc *script, port string) {
	conn, err := net.Dial("tcp", net.JoinHostPort(c.host, port))
	if err != nil {
		c.t.Errorf("%s: connection for %q: %v", c.conv.name, sc.name, err)
		return
	}
	p := &player{conv: c.conv, script: sc, client: true, conn: conn, r: bufio.NewReader(conn),
		vars: c.variable, wait: c.await, learn: c.learn}
	if d := p.play(); d != nil {
		c.t.Error(p.diff(d))
	}
}

// learn matches a line with the step, whose variables match any value. It opens connections to the
// ports that it finds.
func (c *client) learn(st step, line []byte) bool {
	var pattern strings.Builder
	var names []string
	end := 0
	for _, at := range variable.FindAllSubmatchIndex(st.data, -1) {
		pattern.WriteString(regexp.QuoteMeta(string(st.data[end:at[0]])))
		end = at[1]
		if at[6] >= 0 {
			pattern.WriteString(regexp.QuoteMeta(c.variable(string(st.data[at[6]:at[7]]), "")))
			continue
		}
		names = append(names, string(st.data[at[4]:at[5]]))
		pattern.WriteString(map[string]string{
			"PORT": `(\d+)`,
			"EPSV": `\|\|\|(\d+)\|`,
			"PASV": `\d+,\d+,\d+,\d+,(\d+,\d+)`,
		}[string(st.data[at[2]:at[3]])])
	}
	pattern.WriteString(regexp.QuoteMeta(string(st.data[end:])))
	m := regexp.MustCompile("^(?s:" + pattern.String() + ")$").FindSubmatch(line)
	if m == nil {
		return false
	}
	for i, name := range names {
		c.connect(name, string(m[i+1]))
	}
	return true
}

// connect plays the named script in the background, once.
func (c *client) connect(name, port string) {
	var hi, lo int
	if n, _ := fmt.Sscanf(port, "%d,%d", &hi, &lo); n == 2 {
		port = fmt.Sprint(hi<<8 | lo)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ports[name] != "" {
		return
	}
	done := make(chan struct{})
	c.ports[name], c.played[name] = port, done
	c.wg.Go(func() {
		defer close(done)
		c.play(c.conv.script(name), port)
	})
}

// await waits until a script that was started has been played.
func (c *client) await(name string) {
	c.mu.Lock()
	done := c.played[name]
	c.mu.Unlock()
	if done != nil {
		<-done
	}
}

func (c *client) variable(name, script string) string {
	if name == "HOST" {
		return c.host
	}
	port := c.port
	if script != "" {
		c.mu.Lock()
		port = c.ports[script]
		c.mu.Unlock()
	}
	return render(name, port)
}
