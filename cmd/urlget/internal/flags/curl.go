package flags

import (
	"os"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A curlFlag describes a flag of curl.
type curlFlag struct {
	value bool   // it takes a value
	here  string // replacement; VALUE stands for the value; "" if the flag is not needed
}

// curlFlags lists the flags of curl that often stand in one line with -s.
var curlFlags = map[string]curlFlag{
	"-s": {here: "-q"}, "--silent": {here: "-q"},
	"-S": {}, "--show-error": {}, "-L": {}, "--location": {}, "-f": {}, "--fail": {}, "-J": {}, "--remote-header-name": {},
	"-g": {}, "--globoff": {}, "-N": {}, "--no-buffer": {}, "-#": {}, "--progress-bar": {}, "-R": {}, "--remote-time": {},
	"-O": {}, "--remote-name": {}, "--create-dirs": {}, "--fail-with-body": {here: "--content-on-error"},
	"-o": {true, "-O VALUE"}, "--output": {true, "-O VALUE"}, "--output-dir": {true, "-P VALUE"},
	"-I": {here: "-I"}, "--head": {here: "-I"}, "-i": {here: "-S"}, "--include": {here: "-S"}, "-D": {true, "-S"}, "--dump-header": {true, "-S"},
	"-v": {here: "-v"}, "-k": {here: "--insecure"}, "--insecure": {here: "--insecure"}, "-Z": {here: "-Z"}, "-4": {here: "-4"}, "-6": {here: "-6"},
	"-0": {here: "--http1"}, "-n": {here: "--netrc"}, "-p": {here: "--proxy-tunnel"}, "-q": {here: "--no-config"}, "-l": {},
	"-X": {true, "-X VALUE"}, "--request": {true, "-X VALUE"}, "-H": {true, "-H VALUE"}, "--header": {true, "-H VALUE"},
	"-d": {true, "-d VALUE"}, "--data": {true, "-d VALUE"}, "--data-raw": {true, "-d VALUE"}, "--data-binary": {true, "-d VALUE"},
	"--json": {true, "-d VALUE -H 'Content-Type: application/json'"},
	"-F":     {true, "-F VALUE"}, "--form": {true, "-F VALUE"}, "-T": {true, "-X PUT --post-file VALUE"}, "--upload-file": {true, "-X PUT --post-file VALUE"},
	"-u": {true, "-u VALUE"}, "--user": {true, "-u VALUE"}, "-A": {true, "-U VALUE"}, "--user-agent": {true, "-U VALUE"},
	"-e": {true, "--referer VALUE"}, "--referer": {true, "--referer VALUE"}, "-b": {true, "--load-cookies VALUE"}, "--cookie": {true, "--load-cookies VALUE"},
	"-c": {true, "--cookies VALUE"}, "--cookie-jar": {true, "--cookies VALUE"}, "-r": {true, "--range VALUE"}, "--range": {true, "--range VALUE"},
	"-m": {true, "--max-time VALUE"}, "--max-time": {true, "--max-time VALUE"}, "--connect-timeout": {true, "--connect-timeout VALUE"},
	"-x": {true, "--proxy VALUE"}, "--proxy": {true, "--proxy VALUE"}, "-z": {true, "-N"}, "-C": {true, "-c"}, "--continue-at": {true, "-c"},
	"-w": {true, "--json"}, "--write-out": {true, "--json"}, "-E": {true, "--certificate VALUE"}, "--cert": {true, "--certificate VALUE"},
	"--key": {true, "--private-key VALUE"}, "--cacert": {true, "--ca-certificate VALUE"}, "--max-redirs": {true, "--max-redirect VALUE"},
	"--retry": {true, "-t VALUE"}, "--retry-delay": {true, ""}, "--retry-max-time": {true, ""}, "--retry-connrefused": {}, "--retry-all-errors": {},
	"--limit-rate": {true, "--limit-rate VALUE"}, "--url": {true, "VALUE"}, "--proto": {true, ""}, "--tlsv1.2": {}, "--tlsv1.3": {}, "--compressed": {here: "--compressed"},
	"-K": {true, ""}, "--config": {true, ""}, "-P": {true, "--ftp-active"}, "-Q": {true, ""}, "-t": {true, ""}, "-U": {true, ""}, "-y": {true, ""}, "-Y": {true, ""},
}

// CurlLine translates the arguments of a curl command line to a line of this command, as a shell reads
// it. Passwords and secret header fields are replaced by placeholders.
func CurlLine(args []string) string {
	l := curlLine{args: args}
	for len(l.args) > 0 {
		l.next()
	}
	command := []string{"urlget"}
	switch {
	case l.verbose: // not allowed with cat
		l.quiet = false
		if !l.saves && !l.head {
			l.flags = append(l.flags, "-O -")
		}
	case l.list:
		command = append(command, "ls")
	case l.head, l.saves:
	default:
		command, l.quiet = append(command, "cat"), false
	}
	if l.quiet {
		command = append(command, "-q")
	}
	return strings.Join(append(append(command, l.flags...), l.urls...), " ")
}

// A curlLine is a partially translated command line.
type curlLine struct {
	args                              []string // not translated yet
	flags, urls                       []string // translated
	quiet, verbose, head, saves, list bool
}

// next translates the next argument.
func (l *curlLine) next() {
	arg := l.args[0]
	l.args = l.args[1:]
	switch {
	case arg == "--":
		return
	case strings.HasPrefix(arg, "--"):
		name, value, attached := strings.Cut(arg, "=")
		f, known := curlFlags[name]
		if !known {
			l.flags = append(l.flags, Quote(arg))
			return
		}
		if f.value && !attached {
			value = l.value()
		}
		l.add(name, f, value)
	case len(arg) > 1 && arg[0] == '-':
		for i := 1; i < len(arg); i++ {
			name := "-" + arg[i:i+1]
			f := curlFlags[name]
			if !f.value {
				l.add(name, f, "")
				continue
			}
			value := arg[i+1:]
			if value == "" {
				value = l.value()
			}
			l.add(name, f, value)
			return
		}
	case len(l.urls) == 0 && (arg == "get" || arg == "cat" || arg == "stat"):
	default:
		if u, err := uri.ParseLoose(arg); err == nil && u.IsAbs() {
			arg = u.Redacted()
		}
		l.urls = append(l.urls, Quote(arg))
	}
}

// value takes the value of a flag from the next argument.
func (l *curlLine) value() string {
	if len(l.args) == 0 {
		return ""
	}
	value := l.args[0]
	l.args = l.args[1:]
	return value
}

// add adds a flag.
func (l *curlLine) add(name string, f curlFlag, value string) {
	here := f.here
	switch name {
	case "-K", "--config":
		l.args = append(curlConfig(value), l.args...)
		return
	case "-s", "--silent":
		l.quiet = true
		return
	case "-v":
		l.verbose = true
	case "-I", "--head":
		l.head = true
	case "-l":
		l.list = true
	case "-O", "--remote-name", "-w", "--write-out":
		l.saves = true
	case "-o", "--output":
		if value == "-" {
			return // as cat does
		}
		l.saves = true
	case "-b", "--cookie":
		if strings.Contains(value, "=") {
			here, value = "-H VALUE", "Cookie: ..."
		}
	case "-u", "--user":
		if user, _, secret := strings.Cut(value, ":"); secret {
			value = user + ":PASSWORD"
		}
	case "-H", "--header":
		if secretField(value) {
			field, _, _ := strings.Cut(value, ":")
			value = field + ": ..."
		}
	case "-x", "--proxy":
		if p, err := uri.ParseLoose(value); err == nil && p.IsAbs() {
			value = p.Redacted()
		}
	case "--retry":
		if n, err := strconv.Atoi(value); err == nil {
			value = strconv.Itoa(n + 1) // the first try counts here
		}
	}
	if here != "" {
		l.flags = append(l.flags, strings.Replace(here, "VALUE", Quote(value), 1))
	}
}

// curlConfig returns the arguments in a configuration file of curl: a flag on each line, with or
// without dashes, and its value after a blank, a colon or an equals sign.
func curlConfig(name string) []string {
	text, err := os.ReadFile(name)
	if err != nil || len(text) > maxInputLine {
		return nil
	}
	var args []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		flag, value := line, ""
		if i := strings.IndexAny(line, " \t=:"); i > 0 {
			flag, value = line[:i], strings.Trim(line[i:], " \t=:")
		}
		if unquoted, err := strconv.Unquote(value); err == nil {
			value = unquoted
		}
		if flag[0] != '-' {
			flag = "--" + flag
		}
		if args = append(args, flag); value != "" {
			args = append(args, value)
		}
	}
	return args
}

// silent reports whether arg is a cluster of curl's flags with -s, which is --segments here. next is
// the argument after it, or "".
func silent(arg, next string) bool {
	for i := 1; i < len(arg); i++ {
		if arg[i] == 's' {
			value := arg[i+1:]
			if value == "" {
				value = next
			}
			return value == "" || value != "auto" && (value[0] < '0' || value[0] > '9')
		}
		if f, known := curlFlags["-"+arg[i:i+1]]; !known || f.value {
			return false
		}
	}
	return false
}

// onlyCurl reports whether a command line with this argument besides -sS must be translated, because
// the flag has another meaning here or none.
func onlyCurl(arg string) bool {
	_, known := curlFlags[arg]
	return known && (arg == "--output" || len(arg) == 2 && strings.Contains("-o-i-r-x-m-A-e-b-c-w-k-E-C-T-z-D-K-n-N-p", arg))
}

// Quote quotes text for a shell if necessary.
func Quote(text string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@%+,"
	text = fetch.Printable(text)
	if text != "" && strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
