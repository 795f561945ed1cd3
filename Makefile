# Builds and installs urlget, for packagers and for systems without a package. Requires Go.
#
#   make                                     the programs, man pages and completions, in build/
#   make install PREFIX=/usr/local           with the programs in PREFIX/bin
#   make install DESTDIR=/tmp/root PREFIX=/usr
#   make uninstall PREFIX=/usr/local
#
# The build is static without cgo, and reproducible: the same source and Go version give the same bytes.

PREFIX ?= /usr/local
DESTDIR ?=
GO ?= go
GOFLAGS ?= -trimpath
LDFLAGS ?= -s -w
export CGO_ENABLED ?= 0

man = $(DESTDIR)$(PREFIX)/share/man/man1
bash = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
zsh = $(DESTDIR)$(PREFIX)/share/zsh/site-functions
fish = $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
applications = $(DESTDIR)$(PREFIX)/share/applications
doc = $(DESTDIR)$(PREFIX)/share/doc/urlget

.PHONY: all install uninstall clean

all:
	mkdir -p build/man
	$(GO) build $(GOFLAGS) -ldflags '$(LDFLAGS)' -o build/ ./cmd/...
	$(GO) build -C queue $(GOFLAGS) -ldflags '$(LDFLAGS)' -o ../build/ ./cmd/...
	$(GO) run -tags gendoc ./cmd/urlget build/man
	$(GO) run -C queue -tags gendoc ./cmd/urlget-queue ../build/man
	build/urlget completion bash >build/urlget.bash
	build/urlget completion zsh >build/urlget.zsh
	build/urlget completion fish >build/urlget.fish

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(man) $(bash) $(zsh) $(fish) $(applications) $(doc)
	install -m 755 build/urlget build/urlget-queue $(DESTDIR)$(PREFIX)/bin
	install -m 644 build/man/*.1 $(man)
	install -m 644 build/urlget.bash $(bash)/urlget
	install -m 644 build/urlget.zsh $(zsh)/_urlget
	install -m 644 build/urlget.fish $(fish)/urlget.fish
	install -m 644 packaging/urlget.desktop $(applications)
	install -m 644 LICENSE README.md CHANGELOG.md cmd/urlget/licenses.txt $(doc)

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/urlget $(DESTDIR)$(PREFIX)/bin/urlget-queue
	rm -f $(man)/urlget.1 $(man)/urlget-*.1 $(bash)/urlget $(zsh)/_urlget $(fish)/urlget.fish $(applications)/urlget.desktop
	rm -rf $(doc)

clean:
	rm -rf build
