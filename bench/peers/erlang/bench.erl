%% Erlang peer: erl +S W:W +P 4000000 -noshell -noinput -pa <dir> -run bench main <bench> <workers> <n|0>
%% One repetition, one JSON line. Mailboxes stand in for channels (asynchronous, unbounded).
-module(bench).
-export([main/1]).

main([B, W, A]) ->
    spawn(fun() ->
        try run(B, list_to_integer(W), list_to_integer(A)), halt(0)
        catch C:E:S -> io:format(standard_error, "~p~n", [{C, E, S}]), halt(3) end
    end);
main(_) ->
    io:format(standard_error, "usage: main <bench> <workers> <n|0>~n", []), halt(2).

d(0, X) -> X;
d(A, _) -> A.

cpu() -> {T, _} = erlang:statistics(runtime), T.
now_ns() -> erlang:monotonic_time(nanosecond).
timed(F) ->
    C0 = cpu(), T0 = now_ns(), F(), T1 = now_ns(),
    {T1 - T0, cpu() - C0}.
emit(B, W, M, V, N, Cpu, Extra) ->
    io:format("{\"peer\":\"erlang\",\"bench\":\"~s\",\"workers\":~w,\"metric\":\"~s\",\"value\":~.3f,\"n\":~w,\"cpu_ms\":~w~s}~n",
              [B, W, M, float(V), N, Cpu, Extra]).
per_op(B, W, N, Ops, F) -> {Ns, C} = timed(F), emit(B, W, "ns_per_op", Ns / Ops, N, C, "").
total(B, W, N, F) -> {Ns, C} = timed(F), emit(B, W, "ms", Ns / 1.0e6, N, C, "").

run("yield", W, A) ->
    N = d(A, 2000000),
    per_op("yield", W, N, 2 * N, fun() ->
        Me = self(),
        [spawn(fun() -> yloop(N), Me ! done end) || _ <- [1, 2]],
        collect(done, 2)
    end);
run("spawn_join", W, A) ->
    N = d(A, 1000000),
    per_op("spawn_join", W, N, N, fun() -> sj(N div 1000) end);
run("pingpong_unbuf", W, A) ->
    N = d(A, 1000000),
    per_op("pingpong_unbuf", W, N, N, fun() ->
        P = spawn(fun ponger/0),
        pinger(P, N)
    end);
run("skynet", W, A) ->
    N = d(A, 1000000),
    total("skynet", W, N, fun() ->
        Me = self(),
        spawn(fun() -> skynet(Me, 0, N) end),
        S = N * (N - 1) div 2,
        receive S -> ok end
    end);
run("fib30", W, A) -> fib_bench("fib30", W, d(A, 30), 2);
run("fib30_cut12", W, A) -> fib_bench("fib30_cut12", W, d(A, 30), 12);
run("fib30_seq", W, A) -> N = d(A, 30), fib_bench("fib30_seq", W, N, N + 1);
run("mem", W, A) ->
    N = d(A, 1000000), Me = self(), R0 = rss(), P0 = page_tables(), C0 = cpu(), T0 = now_ns(),
    Ps = [spawn(fun() -> Me ! up, receive go -> Me ! done end end) || _ <- lists:seq(1, N)],
    collect(up, N),
    T1 = now_ns(), Rss = (rss() - R0) / N, Tables = (page_tables() - P0) / N,
    T2 = now_ns(),
    [P ! go || P <- Ps],
    collect(done, N),
    T3 = now_ns(),
    emit("mem", W, "bytes_per_fiber", Rss, N, cpu() - C0,
         io_lib:format(",\"page_table_bytes_per_fiber\":~.3f,\"total_bytes_per_fiber\":~.3f"
                       ",\"create_ms\":~.1f,\"wake_all_ms\":~.1f",
                       [Tables, Rss + Tables, (T1 - T0) / 1.0e6, (T3 - T2) / 1.0e6]));
run("timers", W, A) ->
    N = d(A, 100000), Me = self(), C0 = cpu(), T0 = now_ns(),
    [begin D = rand:uniform(100),
        spawn(fun() -> S = now_ns(), receive after D -> ok end, Me ! {late, now_ns() - S - D * 1000000} end)
     end || _ <- lists:seq(1, N)],
    L = lists:sort([receive {late, X} -> X end || _ <- lists:seq(1, N)]),
    T1 = now_ns(), C1 = cpu(),
    T = list_to_tuple(L),
    emit("timers", W, "late_p50_us", element(N div 2 + 1, T) / 1.0e3, N, C1 - C0,
         io_lib:format(",\"late_p99_us\":~.1f,\"late_max_us\":~.1f,\"elapsed_ms\":~.1f",
                       [element(N * 99 div 100 + 1, T) / 1.0e3, element(N, T) / 1.0e3, (T1 - T0) / 1.0e6]));
run("ring", W, A) ->
    N = d(A, 1000000),
    per_op("ring", W, N, N, fun() ->
        Me = self(),
        First = spawn(fun() -> receive {next, Nx} -> rloop(Nx, Me) end end),
        Last = lists:foldl(fun(_, Nx) -> spawn(fun() -> rloop(Nx, Me) end) end, First, lists:seq(2, 1000)),
        First ! {next, Last},
        First ! N,
        receive done -> ok end
    end);
run("sieve", W, A) ->
    N = d(A, 2000),
    total("sieve", W, N, fun() ->
        Me = self(),
        Src = spawn(fun() -> gen(2) end),
        Last = sieve(N, Src, Me, 0),
        if N =:= 2000 -> 17389 = Last; true -> ok end
    end);
run("tcp_echo_server", _W, Port) ->
    {ok, L} = gen_tcp:listen(Port, [binary, {active, false}, {reuseaddr, true}, {nodelay, true}, {ip, {127, 0, 0, 1}}, {backlog, 512}]),
    accept(L);
run(B, _, _) -> io:format(standard_error, "unknown bench ~s~n", [B]), halt(2).

yloop(0) -> ok;
yloop(N) -> erlang:yield(), yloop(N - 1).
collect(_, 0) -> ok;
collect(M, N) -> receive M -> collect(M, N - 1) end.
sj(0) -> ok;
sj(K) ->
    Me = self(),
    [spawn(fun() -> Me ! done end) || _ <- lists:seq(1, 1000)],
    collect(done, 1000),
    sj(K - 1).
ponger() -> receive {P, V} -> P ! V, ponger() end.
pinger(_, 0) -> ok;
pinger(P, N) -> P ! {self(), N}, receive N -> pinger(P, N - 1) end.
skynet(Out, Num, 1) -> Out ! Num;
skynet(Out, Num, Size) ->
    Me = self(), Sub = Size div 10,
    [spawn(fun() -> skynet(Me, Num + I * Sub, Sub) end) || I <- lists:seq(0, 9)],
    Out ! sum(10, 0).
sum(0, S) -> S;
sum(K, S) -> receive V -> sum(K - 1, S + V) end.
fibs(N) when N < 2 -> N;
fibs(N) -> fibs(N - 1) + fibs(N - 2).
fib_bench(B, W, N, Cut) -> total(B, W, N, fun() -> R = fib(N, Cut), if N =:= 30 -> 832040 = R; true -> ok end end).
fib(N, Cut) when N < Cut -> fibs(N);
fib(N, Cut) ->
    Me = self(), R = make_ref(),
    spawn(fun() -> Me ! {R, fib(N - 1, Cut)} end),
    B = fib(N - 2, Cut),
    receive {R, A} -> A + B end.
proc(Name) ->
    {ok, F} = file:open("/proc/self/" ++ Name, [read, raw]),
    {ok, Text} = file:read(F, 8192), file:close(F), Text.
rss() -> [_, R | _] = string:tokens(proc("statm"), " "), list_to_integer(R) * 4096.
page_tables() ->
    {match, [K]} = re:run(proc("status"), "VmPTE:\\s+([0-9]+) kB", [{capture, all_but_first, list}]),
    list_to_integer(K) * 1024.
rloop(Next, Me) ->
    receive 0 -> Me ! done; V -> Next ! V - 1, rloop(Next, Me) end.
%% rendezvous sieve: demand-driven (ask/value), the mailbox equivalent of an unbuffered channel
gen(I) -> receive {ask, P} -> P ! {val, I}, gen(I + 1) end.
ask(Src) -> Src ! {ask, self()}, receive {val, V} -> V end.
filter(Src, P) -> receive {ask, Q} -> V = next(Src, P), Q ! {val, V}, filter(Src, P) end.
next(Src, P) -> case ask(Src) of V when V rem P =/= 0 -> V; _ -> next(Src, P) end.
sieve(0, _, _, Last) -> Last;
sieve(N, Src, Me, _) ->
    P = ask(Src),
    sieve(N - 1, spawn(fun() -> filter(Src, P) end), Me, P).
accept(L) ->
    {ok, S} = gen_tcp:accept(L),
    P = spawn(fun() -> receive go -> echo(S) end end),
    ok = gen_tcp:controlling_process(S, P),
    P ! go,
    accept(L).
echo(S) ->
    case gen_tcp:recv(S, 0) of
        {ok, D} -> ok = gen_tcp:send(S, D), echo(S);
        _ -> gen_tcp:close(S)
    end.
