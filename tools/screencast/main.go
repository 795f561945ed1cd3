// Screencast runs commands of urlget on small servers, records them with their output, and writes
// the recording as an SVG picture with an animation.
//
//	go run ./tools/screencast
//	go run ./tools/screencast -check   # compare the picture with the output
package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/urlget/urlget/fetchtest/loopback"
)

// commands are the recorded commands. They use the addresses of `tour -serve`.
var commands = []string{
	"urlget http://127.0.0.1:18080/large.bin",
	"urlget ls -lh ftp://127.0.0.1:18081/",
	"urlget cat gopher://127.0.0.1:18082/0/fruit/pear.txt",
	"urlget -m --warc copy gopher://127.0.0.1:18082/",
	"urlget ls --replay-only --replay copy.warc.gz gopher://127.0.0.1:18082/1/fruit",
	"urlget http://127.0.0.1:18080/absent.txt; echo $?",
}

const firstPort = 18080

func main() {
	file := flag.String("o", "docs/img/terminal.svg", "picture to write")
	program := flag.String("program", "", "urlget to run; default: built from this folder")
	check := flag.Bool("check", false,
		"do not write the picture, but fail if its text differs from the output")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var listen func(string) (string, string)
	if !*check { // a check can use any ports
		listen = func(scheme string) (string, string) {
			return net.JoinHostPort("127.0.0.1",
				strconv.Itoa(firstPort+slices.Index(loopback.Schemes(), scheme))), ""
		}
	}
	steps, err := record(ctx, *program, listen)
	switch {
	case err != nil:
	case *check:
		err = compare(*file, steps)
	default:
		err = os.WriteFile(*file, picture(steps), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "screencast:", err)
		os.Exit(1)
	}
}

// A step is a command with its output.
type step struct {
	command string
	output  []string // lines
}

// record runs the commands with the program, or with urlget from this folder if it is "". If the
// servers do not listen on the ports in the commands, it replaces the ports there and in the output.
func record(ctx context.Context, program string,
	listen func(scheme string) (string, string)) (steps []step, err error) {
	work, err := os.MkdirTemp("", "screencast-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	bin := filepath.Join(work, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return nil, err
	}
	urlget := filepath.Join(bin, "urlget")
	if program == "" {
		build := exec.CommandContext(ctx, "go", "build", "-o", urlget, "./cmd/urlget")
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go build: %w\n%s", err, out)
		}
	} else if program, err = filepath.Abs(program); err != nil {
		return nil, err
	} else if err = os.Symlink(program, urlget); err != nil {
		return nil, err
	}
	v, err := loopback.New(loopback.Options{Schemes: loopback.Schemes()[:3], Listen: listen})
	if err != nil {
		return nil, err
	}
	defer v.Close()
	var real, shown []string
	for i, s := range v.All {
		usual := strconv.Itoa(firstPort + i)
		_, port, err := net.SplitHostPort(s.Addr)
		if err != nil {
			return nil, err
		}
		real = append(real, ":"+usual, ":"+port)
		shown = append(shown, ":"+port, ":"+usual, "+"+port, "+"+usual)
	}
	here, there := strings.NewReplacer(real...), strings.NewReplacer(shown...)
	home := filepath.Join(work, "home")
	if err := os.Mkdir(home, 0o755); err != nil {
		return nil, err
	}
	for _, command := range commands {
		var out bytes.Buffer
		cmd := exec.CommandContext(ctx, "sh", "-c", here.Replace(command))
		cmd.Dir, cmd.Stdout, cmd.Stderr = home, &out, &out
		cmd.Env = []string{"HOME=" + home, "PATH=" + bin + ":/usr/bin:/bin"}
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", command, err, &out)
		}
		text := there.Replace(strings.TrimRight(out.String(), "\n"))
		steps = append(steps, step{command, strings.Split(text, "\n")})
	}
	return steps, nil
}

// measured matches the parts of the output that differ between runs.
var measured = regexp.MustCompile(`[0-9.]+ ([KMG]?i?B/)?s\b`)

// compare returns an error if the text of the picture in file is not that of the steps. It ignores
// times, rates and the order of lines, because parallel transfers end in any order.
func compare(file string, steps []step) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var shown struct {
		Desc string `xml:"desc"`
	}
	if err := xml.Unmarshal(text, &shown); err != nil {
		return err
	}
	number := make(map[string]int) // of lines in the output, minus those in the picture
	count := func(text string, n int) {
		for line := range strings.Lines(measured.ReplaceAllString(text, "N")) {
			number[line] += n
		}
	}
	count(transcript(steps), 1)
	count(shown.Desc, -1)
	var differences []string
	for line, n := range number {
		switch {
		case n > 0:
			differences = append(differences, "+ "+line)
		case n < 0:
			differences = append(differences, "- "+line)
		}
	}
	if differences == nil {
		return nil
	}
	slices.Sort(differences)
	return fmt.Errorf("%s differs from the output; run go run ./tools/screencast\n%s", file,
		strings.Join(differences, ""))
}

// The measures of the picture, in pixels, and its times.
const (
	columnWidth = 8.43 // of a 14px monospace font
	lineHeight  = 19
	margin      = 16
	minColumns  = 80
	typing      = 35 * time.Millisecond // for each character of a command
	pause       = 900 * time.Millisecond
)

// picture returns the recording as SVG. Without animations, such as in print, it shows all lines.
func picture(steps []step) []byte {
	var lines strings.Builder
	row, columns, at := 0, minColumns, 300*time.Millisecond
	line := func(class, text string) {
		row++
		columns = max(columns, utf8.RuneCountInString(text))
		fmt.Fprintf(&lines, `<text class="%s" x="%d" y="%d" style="animation-delay:%.2fs" xml:space="preserve">%s</text>`+"\n",
			class, margin, margin+row*lineHeight, at.Seconds(), escape(text))
	}
	for i, s := range steps {
		if i > 0 {
			row++ // an empty line
		}
		line("command", "$ "+s.command)
		at += time.Duration(len(s.command)) * typing
		for _, l := range s.output {
			line("output", l)
		}
		at += pause
	}
	width, height := float64(2*margin)+float64(columns)*columnWidth, 2*margin+(row+1)*lineHeight
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d" role="img" aria-labelledby="t d">
<title id="t">urlget in a terminal</title>
<desc id="d">%s</desc>
<style>
text { font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #d4d4d4; animation: show 0.01s both; }
.command { fill: #ffffff; font-weight: bold; }
@keyframes show { from { opacity: 0; } to { opacity: 1; } }
@media (prefers-reduced-motion: reduce), print { text { animation: none; } }
</style>
<rect width="100%%" height="100%%" rx="8" fill="#1e1e1e"/>
%s</svg>
`, width, height, width, height, escape(transcript(steps)), &lines)
	return b.Bytes()
}

// transcript returns the recording as text.
func transcript(steps []step) string {
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&b, "$ %s\n%s\n", s.command, strings.Join(s.output, "\n"))
	}
	return b.String()
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
