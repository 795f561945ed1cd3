package flags

const notShown = "urlget does not show pages; urlget cat URL prints their source"

// foreignFlags lists the flags of wget 1.21, curl 7.88 and aria2 1.36 that no single flag replaces.
// Replaced flags are in the row of their replacement in the table.
var foreignFlags = []Foreign{
	{Of: "HTTPie", Names: "--download --follow --check-status --ignore-stdin --meta",
		Note: "that is the default here"},
	{Of: "HTTPie", Names: "-a --auth", Here: "urlget cat -u USER:PASSWORD"},
	{Of: "HTTPie", Names: "--auth-type", Note: "the server chooses the login method"},
	{Of: "HTTPie", Names: "--body", Here: "urlget cat URL"},
	{Of: "HTTPie", Names: "--headers", Here: "urlget -I URL"},
	{Of: "HTTPie", Names: "--print", Here: "-S for the reply, --trace for the request"},
	{Of: "HTTPie", Names: "--verify", Here: "--insecure or --ca-certificate FILE"},
	{Of: "HTTPie", Names: "--session --session-read-only", Here: "--cookies FILE"},
	{Of: "HTTPie", Names: "--multipart", Here: "-F NAME=VALUE"},
	{Of: "HTTPie", Names: "--pretty --style --unsorted --sorted --format-options " +
		"--response-charset --response-mime --all --history-print"},
	{Of: "HTTPie", Names: "--stream", Note: "urlget cat URL prints the content as it arrives"},
	{Of: "HTTPie", Names: "--raw", Here: "--data TEXT"},
	{Of: "HTTPie", Names: "--max-redirects", Here: "--max-redirect N"},
	{Of: "HTTPie", Names: "--cert --cert-key", Here: "--certificate FILE and --private-key FILE"},
	{Of: "HTTPie", Names: "--path-as-is --compress --chunked --ssl --default-scheme --check-headers"},
	{Of: "wget2", Names: "--max-threads", Here: "-j N"},
	{Of: "wget2", Names: "--chunk-size", Here: "-s N", Note: "a number of ranges instead of their size"},
	{Of: "wget2", Names: "--stats-all --stats-server --stats-site --stats-dns --stats-tls " +
		"--stats-ocsp", Here: "--json"},
	{Of: "wget2", Names: "--check-hostname --ocsp --ocsp-stapling --tls-resume --tls-false-start " +
		"--http2-only --dane --hpkp --fsync-policy --verify-save-failed --signature-extensions",
		Note: "urlget has no such setting"},
	{Of: "an earlier serve", Names: "--downloads",
		Note: "the browser saves files, and each page shows the command that can resume"},
	{Of: "lynx, links and w3m", Names: "-dump -source -dump_source -dump_extra -dump_both",
		Here: "urlget cat URL"},
	{Of: "lynx", Names: "-listonly -traversal -crawl", Here: "urlget ls URL"},
	{Of: "lynx and w3m", Names: "-head -dump_head", Here: "-I"},
	{Of: "lynx", Names: "-mime_header", Here: "urlget cat -S URL"},
	{Of: "lynx", Names: "-auth", Here: "urlget cat -u USER:PASSWORD"},
	{Of: "lynx", Names: "-useragent", Here: "-U AGENT"},
	{Of: "lynx", Names: "-post_data", Here: "--post-file FILE"},
	{Of: "lynx", Names: "-connect_timeout -read_timeout", Here: "--connect-timeout and --read-timeout"},
	{Of: "lynx", Names: "-accept_all_cookies -cookies -cookie_file -cookie_save_file",
		Here: "--cookies FILE"},
	{Of: "w3m", Names: "-header", Here: "urlget cat -H 'Name: value' URL"},
	{Of: "w3m", Names: "-post", Here: "urlget cat --post-file FILE URL"},
	{Of: "links", Names: "-http-proxy -https-proxy -socks-proxy", Here: "--proxy URL"},
	{Of: "lynx", Names: "-get_data -display_charset -assume_charset -force_html -width -nolist -nonumbers " +
		"-nomargins -nostatus -nobold -noredir -noreferer -nopause -notitle -with_backspaces " +
		"-image_links -stdin -term -vikeys -validate -selective -startfile_ok -tagsoup -realm -reload " +
		"-pauth -cache -cfg -lss -base -pseudo_inlines -hiddenlinks -error_file -restrictions " +
		"-telnet -anonymous",
		Note: notShown},
	{Of: "lynx", Names: "-assume_* -cmd_* -force_* -html5* -list_* -news* -number_* -partial* " +
		"-scrollbar* -session* -show_* -syslog* -trim_* -child* -unique_* -xhtml* -bibhost -book " +
		"-buried_news -case -center -collapse_br_tags -convert_to -core -curses_pads -debug_partial " +
		"-default_colors -delay -display -dont_wrap_pre -editor -emacskeys -enable_scrollback -exec " +
		"-forms_options -from -ftp -historical -homepage -index -ismap -justify -link -localhost -locexec " +
		"-minimal -nested_tables -nobrowse -nocc -nocolor -noexec -nofilereferer -nolog -nomore " +
		"-nonrestarting_sigwinch -noprint -noreverse -nounderline -nozap -passive_ftp -popup -preparsed " +
		"-prettysrc -print -raw -resubmit_posts -rlogin -short_url -socks5_proxy -soft_dquotes -stack_dump " +
		"-stderr -tlog -tna -trace_mask -underline_links -underscore -update_term_title -use_mouse",
		Note: notShown},
	{Of: "links, elinks and w3m", Names: "-html-* -http-bugs* -http.* -ftp.* -display-* -ssl.* -dump-* " +
		"-bind-address-ipv* -config-* -menu-* -scroll-bar-* -dither-* -bookmarks-* -max-* -image-* " +
		"-address-preference -aggressive-cache -append-text-to-dns-lookups -auto-submit -base-session " +
		"-bfu-aspect -bookmark -codepage -default-keys -default-mime-type -dns-over-https -download-dir " +
		"-download-utime -enable-cookies -eval -font-cache-size -format-cache-size -gamma-correction " +
		"-graph -language -long-help -lookup -memory-cache-size -mode -num -only-proxies " +
		"-overwrite-instead-of-scroll -ppc -ppl -receive-timeout -remote -reqlog -retries " +
		"-save-url-history -session-ring -show-option -smb.allow-hyperlinks-to-smb -terminfo " +
		"-timeout-when-trying-multiple-addresses -title -touch-files -unrestartable-receive-timeout " +
		"-user-gamma -cookie -no-cookie -cols -no-references -no-numbering -no-graph -no-mouse " +
		"-no-connect -no-home -no-libevent -no-openmp -no-g",
		Note: notShown},
	{Of: "axel", Names: "--max-speed", Here: "--limit-rate SIZE"},
	{Of: "axel", Names: "-a --alternate --percentage", Note: "a progress bar is shown by default"},
	{Of: "httrack", Names: "--path", Here: "-P DIR"},
	{Of: "httrack", Names: "--depth", Here: "-l N"},
	{Of: "httrack", Names: "--ext-depth --sockets --robots --near --stay-on-same-domain " +
		"--update --get-files --can-go-up --mirrorlinks --testlinks",
		Note: "urlget -m -k URL mirrors a site"},
	{Of: "rclone", Names: "--http-url",
		Note: "urlget ls URL lists an index, and urlget -m URL copies its files"},
	{Of: "rclone", Names: "--transfers --checkers", Here: "-j N"},
	{Of: "rclone", Names: "--bwlimit", Here: "--limit-rate SIZE"},
	{Of: "rclone", Names: "--multi-thread-streams", Here: "-s N"},
	{Of: "yt-dlp", Names: "-x -g --audio-format --extract-audio --format --list-formats --write-subs " +
		"--merge-output-format --get-url --yes-playlist --no-playlist " +
		"--cookies-from-browser --embed-thumbnail",
		Note: "urlget retrieves what a URL names, not the video in a page: yt-dlp -g PAGE | urlget -i -"},
	{Of: "yt-dlp", Names: "--downloader --external-downloader",
		Note: "print the addresses: yt-dlp -g PAGE | urlget -i -"},
	{Of: "rclone", Names: "-a --auto-filename", Note: "files are named after their URLs by default"},
	{Of: "rclone", Names: "--print-filename --stdout", Note: "see --json and urlget cat"},
	{Of: "curl", Names: "--remote-name --remote-name-all",
		Note: "files are named after their URLs by default"},
	{Of: "wget", Names: "--restrict-file-names --local-encoding --remote-encoding --no-iri",
		Note: "file names are always made portable"},
	{Of: "wget", Names: "--no-cache", Note: "without --cache nothing is cached; " +
		"-H 'Cache-Control: no-cache' asks caches on the way to ask the server"},
	{Of: "wget", Names: "--no-glob", Note: "%2A is not a wildcard"},
	{Of: "wget", Names: "--passive-ftp", Note: "FTP is passive by default; --ftp-active changes that"},
	{Of: "curl", Names: "--ftp-pasv --disable-epsv --disable-eprt",
		Note: "FTP is passive and falls back automatically"},
	{Of: "wget", Names: "--ftps-implicit",
		Note: "write ftps: for TLS from the first byte, --ftp-tls for AUTH TLS"},
	{Of: "curl", Names: "--use-ascii", Note: "end the URL in ;type=a"},
	{Of: "wget", Names: "--preserve-permissions --retr-symlinks --no-remove-listing"},
	{Of: "curl", Names: "--create-dirs", Note: "directories are created as needed"},
	{Of: "curl", Names: "--remote-time", Note: "files get the server's time by default"},
	{Of: "wget", Names: "--no-use-server-timestamps", Note: "files get the server's time"},
	{Of: "aria2", Names: "--allow-overwrite", Note: "-O FILE replaces a file"},
	{Of: "aria2", Names: "--auto-file-renaming",
		Note: "new files are renamed by default; -nc keeps existing files"},
	{Of: "curl", Names: "-# --progress-bar", Note: "a progress bar is shown by default"},
	{Of: "wget", Names: "--show-progress", Note: "progress is shown on a terminal; -q is silent"},
	{Of: "wget", Names: "--report-speed"},
	{Of: "curl", Names: "--create-file-mode", Note: "the mode of new files follows umask"},
	{Of: "curl", Names: "--remove-on-error", Note: "an incomplete file never gets the final name"},
	{Of: "curl", Names: "-M --manual", Note: "man urlget, or urlget help"},
	{Of: "curl", Names: "--libcurl --xattr"},
	{Of: "wget", Names: "--xattr"},
	{Of: "wget", Names: "--backups --unlink",
		Note: "files are replaced only by -O, -c and -N, and atomically"},
	{Of: "aria2", Names: "--stderr --show-console-readout --truncate-console-readout " +
		"--human-readable --download-result",
		Note: "messages go to standard error; --json is for programs"},
	{Of: "wget", Names: "--no-cookies", Note: "cookies are not kept without --cookies"},
	{Of: "curl", Names: "-G --get", Note: "write the values into the URL"},
	{Of: "curl", Names: "--data-urlencode --form-string", Note: "write %XX for reserved characters"},
	{Of: "curl", Names: "-a --append", Note: "urlget does not upload"},
	{Of: "curl", Names: "--quote", Note: "custom FTP commands are not supported"},
	{Of: "curl", Names: "--list-only", Here: "urlget ls"},
	{Of: "curl", Names: "--telnet-option"},
	{Of: "curl", Names: "--compressed-ssh --tcp-fastopen --tcp-nodelay --no-alpn --no-npn " +
		"--no-buffer", Note: "urlget has no such setting"},
	{Of: "curl", Names: "--location-trusted", Note: "credentials are sent only to their own server"},
	{Of: "curl", Names: "--post301 --post302 --post303"},
	{Of: "wget", Names: "--ignore-length", Note: "a file is complete only if its length matches"},
	{Of: "curl", Names: "--ignore-content-length", Note: "a file is complete only if its length matches"},
	{Of: "curl", Names: "--url-query", Note: "write the values into the URL"},
	{Of: "curl", Names: "--form-escape --expect100-timeout --tr-encoding --raw --crlf",
		Note: "urlget has no such setting"},
	{Of: "curl", Names: "--mail-*", Note: "urlget does not send mail"},
	{Of: "curl", Names: "--ftp-alternative-to-user --ftp-create-dirs --ftp-method --ftp-pret " +
		"--ftp-skip-pasv-ip --ftp-ssl-ccc --ftp-ssl-ccc-mode --ftp-ssl-control",
		Note: "FTP adapts to the server automatically"},
	{Of: "wget", Names: "--ftps-*", Note: "data connections are protected like the control connection"},
	{Of: "curl", Names: "--path-as-is", Note: "paths are sent as they are"},
	{Of: "wget", Names: "--crl-file"},
	{Of: "wget", Names: "--default-page --strict-comments --no-if-modified-since " +
		"--no-http-keep-alive --random-file --egd-file", Note: "urlget has no such setting"},
	{Of: "aria2", Names: "--http-no-cache --http-auth-challenge --enable-http-* " +
		"--ftp-reuse-connection --content-disposition-default-utf8",
		Note: "urlget has no such setting"},
	{Of: "aria2", Names: "--ftp-type", Note: "end the URL in ;type=a"},
	{Of: "aria2", Names: "--save-not-found --server-stat-*"},
	{Of: "curl", Names: "--http2-prior-knowledge", Note: "urlget supports HTTP/1.1 and, over TLS, HTTP/2"},
	{Of: "curl", Names: "--http3-only", Note: "--http3 falls back to TCP"},
	{Of: "curl", Names: "--proxy-user", Note: "put the user and password into the proxy URL"},
	{Of: "wget", Names: "--proxy-user --proxy-password",
		Note: "put the user and password into the proxy URL"},
	{Of: "curl", Names: "--retry-all-errors", Note: "transient errors are retried by default"},
	{Of: "wget", Names: "--retry-on-http-error --retry-on-host-error",
		Note: "transient errors are retried by default"},
	{Of: "curl", Names: "--retry-connrefused", Note: "a refused connection is not tried again"},
	{Of: "wget", Names: "--retry-connrefused", Note: "a refused connection is not tried again"},
	{Of: "wget", Names: "--no-dns-cache", Note: "no addresses are stored between runs"},
	{Of: "wget", Names: "--prefer-family", Here: "-4 or -6"},
	{Of: "curl", Names: "--ipv4 --ipv6", Here: "-4 or -6"},
	{Of: "curl", Names: "--proto --proto-default", Note: "write the scheme in the URL"},
	{Of: "wget", Names: "--https-only",
		Note: "redirects from https to http are followed without credentials"},
	{Of: "curl", Names: "--dns-ipv4-addr --dns-ipv6-addr --local-port --unix-socket " +
		"--abstract-unix-socket --haproxy-protocol --http0.9 --alt-svc --doh-* " +
		"--happy-eyeballs-timeout-ms --keepalive-time --no-keepalive --no-sessionid " +
		"--suppress-connect-headers --tftp-blksize --tftp-no-options"},
	{Of: "aria2", Names: "--all-proxy-* --http-proxy-* --https-proxy-* --ftp-proxy-*",
		Note: "put the user and password into the proxy URL"},
	{Of: "curl", Names: "--proxy-pinnedpubkey --proxy-c* --proxy-header --proxy-insecure " +
		"--proxy-key* --proxy-negotiate --proxy-ntlm --proxy-pass --proxy-service-name " +
		"--proxy-ssl-* --proxy-tls*",
		Note: "a proxy is treated like any server; put its login into the proxy URL"},
	{Of: "curl", Names: "--socks5-*", Note: "put the login into the proxy URL"},
	{Of: "curl", Names: "--cert-status --crlfile --engine --false-start --ssl-* -1 -2 -3 --sslv2 " +
		"--sslv3 --tlsauthtype --tlspassword --tlsuser",
		Note: "TLS 1.2 or later is negotiated with the server"},
	{Of: "aria2", Names: "--min-tls-version", Note: "TLS 1.2 or later is negotiated with the server"},
	{Of: "curl", Names: "--pass", Note: "urlget prompts for the passphrase of a key"},
	{Of: "curl", Names: "--disallow-username-in-url"},
	{Of: "curl", Names: "--login-options --ntlm-wb --sasl-authzid --sasl-ir --service-name",
		Note: "the server chooses the login method"},
	{Of: "wget", Names: "--certificate-type --private-key-type", Note: "the formats are recognized"},
	{Of: "curl", Names: "--cert-type --key-type", Note: "the formats are recognized"},
	{Of: "curl", Names: "--tlsv1 --tlsv1.0 --tlsv1.1 --tlsv1.2 --tlsv1.3 --tls-max --ciphers " +
		"--tls13-ciphers --curves", Note: "TLS 1.2 or later is negotiated with the server"},
	{Of: "wget", Names: "--secure-protocol --ciphers",
		Note: "TLS 1.2 or later is negotiated with the server"},
	{Of: "curl", Names: "--netrc-optional", Note: "the netrc file is read by default"},
	{Of: "curl", Names: "--basic --digest --ntlm --negotiate --anyauth --proxy-basic " +
		"--proxy-digest --proxy-anyauth", Note: "the server chooses the login method"},
	{Of: "curl", Names: "--krb --delegation"},
	{Of: "curl", Names: "--parallel-immediate", Note: "transfers start as soon as a slot is free"},
	{Of: "aria2", Names: "--parameterized-uri", Here: "--glob-ranges"},
	{Of: "aria2", Names: "--deferred-input --save-session* --optimize-concurrent-downloads " +
		"--reuse-uri --keep-unfinished-download-result --max-download-result",
		Note: "a list is read while it is processed, and -c resumes it"},
	{Of: "wget", Names: "--regex-type", Note: "regular expressions are those of Go (RE2)"},
	{Of: "wget", Names: "--convert-file-only --protocol-directories"},
	{Of: "wget", Names: "--warc-header --no-warc-digests --no-warc-keep-log --warc-tempdir",
		Note: "archives contain digests and no log"},
	{Of: "curl", Names: "--url", Note: "pass the URL as an argument"},
	{Of: "curl", Names: "-g --globoff", Note: "brackets and braces are expanded only with --glob-ranges"},
	{Of: "curl", Names: "--next -:", Note: "run the command once per URL"},
	{Of: "wget", Names: "--follow-tags --ignore-tags --ignore-case --relative",
		Note: "--accept-regex and --reject-regex choose the links that are followed"},
	{Of: "wget", Names: "--follow-ftp", Note: "links to other schemes are followed with --span-hosts"},
	{Of: "aria2", Names: "--enable-dht* --bt-* --dht-* --peer-* --enable-peer-exchange " +
		"--seed-time --seed-ratio --listen-port --follow-torrent --torrent-file --index-out " +
		"--select-file --show-files --max-upload-limit --max-overall-upload-limit",
		Note: "urlget does not support BitTorrent"},
	{Of: "aria2", Names: "--enable-rpc --rpc-* --daemon --gid --pause --pause-metadata"},
	{Of: "aria2", Names: "-a --file-allocation --no-file-allocation-limit --disk-cache " +
		"--min-split-size --piece-length --allow-piece-length-change --force-sequential " +
		"--stream-piece-selector --uri-selector --enable-mmap --max-mmap-limit --event-poll " +
		"--rlimit-nofile", Note: "urlget has no such setting"},
}
