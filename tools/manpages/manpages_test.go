package manpages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestEachCommandHasAPage(t *testing.T) {
	t.Parallel()
	none := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: "tool", Short: "a tool", Run: none}
	sub := &cobra.Command{Use: "sub [flags] NAME", Short: "a part of it", Example: "tool sub x", Run: none}
	sub.Flags().StringP("out", "o", "", "write to `FILE`, not to .x\\y")
	sub.Flags().Bool("secret", false, "not told")
	sub.Flags().MarkHidden("secret")
	root.AddCommand(sub, &cobra.Command{Use: "other", Short: "another program's", Run: none})
	dir := t.TempDir()
	err := Write(dir, root, Options{
		Version:  "v1",
		Groups:   func(c *cobra.Command) []Group { return []Group{{"Files", c.Flags()}} },
		Sections: func(*cobra.Command) string { return "\n.SH FILES\nnone\n" },
		Skip:     func(c *cobra.Command) bool { return c.Name() == "other" },
	})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(pages) != 2 {
		t.Errorf("pages %q, %v", pages, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "tool-sub.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"urlget v1"`, ".SH OPTIONS\n.SS Files\n.TP\n", "\n.TP\n" + `\fB\-o\fP, \fB\-\-out\fP \fIFILE\fP` + "\nwrite to FILE, not to .x\\ey.\n",
		"\n.SH FILES\nnone\n.SH SEE ALSO\n", "\n.SH EXAMPLES\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "secret") {
		t.Error("a hidden flag is told")
	}
}

func TestLeadingDotIsEscaped(t *testing.T) {
	t.Parallel()
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Bool("x", false, ".so /etc/passwd")
	var b strings.Builder
	f.VisitAll(func(f *pflag.Flag) { writeOption(&b, f) })
	if want := "\n\\&.so /etc/passwd.\n"; !strings.HasSuffix(b.String(), want) {
		t.Errorf("%q does not end in %q", b.String(), want)
	}
}
